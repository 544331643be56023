// The current location: the path below /demo, stored in the browser's history, with the scroll position of each entry.

import { randomKey } from "../ui/randomKey";
import { createStore, useStore } from "../ui/store";

const BASE = import.meta.env.BASE_URL.replace(/\/$/, "");

export interface Place {
  path: string;
  /** Incremented by every navigation, so that navigating to the same path is one, too. */
  move: number;
  /** The position to scroll to; null to keep the current one. */
  scrollTo: number | null;
}

function pathNow(): string {
  const path = location.pathname.slice(BASE.length) || "/";
  try {
    return decodeURIComponent(path);
  } catch {
    // Not valid UTF-8: leave it encoded, which matches no page.
    return path;
  }
}

const scrolled = new Map<string, number>();
let entry: string = history.state?.entry ?? randomKey();
history.replaceState({ entry }, "");
history.scrollRestoration = "manual";

const store = createStore<Place>({ path: pathNow(), move: 0, scrollTo: 0 });

const moveTo = (scrollTo: number | null) => store.set({ path: pathNow(), move: store.get().move + 1, scrollTo });

addEventListener("popstate", (event) => {
  scrolled.set(entry, scrollY);
  entry = event.state?.entry ?? randomKey();
  moveTo(scrolled.get(entry) ?? 0);
});

export const hrefOf = (path: string) => BASE + path;

/** Navigates to a page: to its top, or with `keepsPlace` to the current scroll position. */
export function navigate(path: string, { keepsPlace = false, replaces = false } = {}): void {
  scrolled.set(entry, scrollY);
  if (!replaces) entry = randomKey();
  history[replaces ? "replaceState" : "pushState"]({ entry }, "", hrefOf(path));
  moveTo(keepsPlace ? null : 0);
}

export const usePlace = () => useStore(store);
