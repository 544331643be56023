import { createStore, type Store } from "./store.js";
import type { TokenStore } from "./token.js";

/** The token of a client, wherever it comes from. */
export interface Session {
  readonly signedIn: Store<boolean>;
  /** Returns the token to send; null for an anonymous request. */
  token(): Promise<string | null>;
  /** Handles that the server has rejected a token. Returns true if there is another to try. */
  reject(token: string | null): Promise<boolean>;
  /** True if all tokens are of the same user, so that what was rejected may be sent again with another. */
  readonly isRefreshed?: boolean;
  /** Replaces the token of a session of Fanfold. */
  set(token: string | null): void;
  /** Calls the listener when another session has begun, or this one has ended, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

/** Returns the session whose token is kept in a store. */
export function sessionOf(store: TokenStore): Session {
  const signedIn = createStore(store.get() !== null);
  store.subscribe(() => signedIn.set(store.get() !== null));
  return {
    signedIn,
    token: async () => store.get(),
    async reject(token) {
      // Another tab, or a change of the password, may have replaced the token meanwhile.
      if (store.get() === token) store.set(null);
      return store.get() !== null;
    },
    set: store.set,
    onChange: store.subscribe,
  };
}
