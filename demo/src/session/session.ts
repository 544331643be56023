// Who is signed in: the token lasts as long as the tab.

import { createStore } from "../ui/store";

const STORED = "fanfold.demo.token";

export interface Session {
  token: string | null;
  /** Why nobody is signed in any more, if that needs to be told. */
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
    if (store.get().token !== null) session.end("Your session has ended. Sign in again to go on.");
  },
};
