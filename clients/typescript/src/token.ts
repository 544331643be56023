import { listen } from "./environment.js";
import { createStore } from "./store.js";

/** Keeps the token of a session of Fanfold. */
export interface TokenStore {
  /** Returns the token; null if no user is signed in. */
  get(): string | null;
  set(token: string | null): void;
  /** Calls the listener after each change, also by another tab, until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

/**
 * Keeps the token as long as the page.
 *
 * @param token The initial token.
 */
export const memoryToken = (token: string | null = null): TokenStore => createStore(token);

/**
 * Keeps the token in the browser's local storage, so that all tabs of the site share the session: a user who signs in
 * or out in one tab does so in all.
 *
 * @param name The key in the storage.
 * @param storage Another storage, such as `sessionStorage`: the token then lasts as long as the tab.
 */
export function localToken(name: string, storage: Storage = localStorage): TokenStore {
  const store = createStore(storage.getItem(name));
  // The event is sent to the other tabs only. Without a key, the storage was cleared.
  listen("storage", (event) => {
    if (event.storageArea === storage && (event.key === name || event.key === null)) store.set(storage.getItem(name));
  });
  return {
    ...store,
    // Another tab may have stored a token whose event has not arrived yet.
    get: () => storage.getItem(name),
    set(token) {
      if (token === null) storage.removeItem(name);
      else storage.setItem(name, token);
      store.set(token);
    },
  };
}
