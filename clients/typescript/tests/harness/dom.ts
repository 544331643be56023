// A DOM without a browser. Import it before React.

import { Window } from "happy-dom";

const window = new Window({ url: "http://127.0.0.1/" });
const { document, localStorage, navigator } = window;
const globals = {
  window,
  document,
  localStorage,
  navigator,
  IS_REACT_ACT_ENVIRONMENT: true,
  addEventListener: window.addEventListener.bind(window),
  removeEventListener: window.removeEventListener.bind(window),
};
for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value });
Object.defineProperty(globalThis, "scrollY", { get: () => window.scrollY });

/** Returns true for elements that the user sees, which the window cannot compute without a layout. */
let isSeen: (element: Element) => boolean = () => false;
const observers = new Set<() => void>();

class Observer {
  #report: (() => void) | undefined;
  constructor(readonly callback: (entries: { isIntersecting: boolean }[]) => void) {}
  observe(element: Element): void {
    const report = () => observers.has(report) && this.callback([{ isIntersecting: isSeen(element) }]);
    observers.add(report);
    this.#report = report;
    setTimeout(report);
  }
  disconnect(): void {
    if (this.#report) observers.delete(this.#report);
  }
}
Object.assign(globalThis, { IntersectionObserver: Observer });

/** Scrolls to other elements, and reports that to the observers. */
export function see(condition: typeof isSeen): void {
  isSeen = condition;
  for (const report of [...observers]) report();
}

/** Ends what the window does by itself, which would keep the program alive. */
export const close = (): Promise<void> => window.happyDOM.close();

/** Scrolls the page. */
export function scrollTo(top: number): void {
  window.scrollTo(0, top);
  window.dispatchEvent(new window.Event("scroll"));
}

/** Enters a text in a field, as a user does. */
export function enter(field: HTMLElement, text: string): void {
  // React replaces the property of the element itself.
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value")!.set!.call(field, text);
  field.dispatchEvent(new window.Event("input", { bubbles: true }) as unknown as Event);
}

/** Reports that another tab has changed the storage. */
export function changeInOtherTab(key: string, value: string | null): void {
  if (value === null) localStorage.removeItem(key);
  else localStorage.setItem(key, value);
  window.dispatchEvent(new window.StorageEvent("storage", { key, storageArea: localStorage }));
}

/** Reports that the browser is online or offline. */
export const report = (name: "online" | "offline"): void => void window.dispatchEvent(new window.Event(name));
