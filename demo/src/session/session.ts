// The current session; its token lasts as long as the tab.

import { createStore } from "../ui/store";

const STORED = "fanfold.demo.token";

export interface Session {
  token: string | null;
  /** The reason why the session ended, to show to the user; null if there is none. */
  message: string | null;
}

const store = createStore<Session>({ token: sessionStorage.getItem(STORED), message: null });

export const session = {
  store,
  begin: (token: string) => {
    sessionStorage.setItem(STORED, token);
    store.set({ token, message: null });
  },
  end: (message: string | null = null) => {
    sessionStorage.removeItem(STORED);
    store.set({ token: null, message });
  },
  expire: () => {
    if (store.get().token !== null) session.end("Your session has ended. Sign in again to continue.");
  },
};
