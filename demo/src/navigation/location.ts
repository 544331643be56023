// Where one is: the path below /demo, kept in the history of the browser, with how far each entry was scrolled.

import { randomKey } from "../ui/randomKey";
import { createStore, useStore } from "../ui/store";

const BASE = import.meta.env.BASE_URL.replace(/\/$/, "");

export interface Place {
  path: string;
  /** Grows with every move, so that coming to the same path again is a move, too. */
  move: number;
  /** How far to scroll; null to stay where one is. */
  scrollTo: number | null;
}

function pathNow(): string {
  const path = location.pathname.slice(BASE.length) || "/";
  try {
    return decodeURIComponent(path);
  } catch {
    // What is no text in UTF-8 is no page either.
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

/** Goes to another page, to its top unless the place on the page shall be kept. */
export function navigate(path: string, { keepsPlace = false, replaces = false } = {}): void {
  scrolled.set(entry, scrollY);
  if (!replaces) entry = randomKey();
  history[replaces ? "replaceState" : "pushState"]({ entry }, "", hrefOf(path));
  moveTo(keepsPlace ? null : 0);
}

export const usePlace = () => useStore(store);
