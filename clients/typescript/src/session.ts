import { createStore, type Store } from "./store.js";
import { memoryToken, type TokenStore } from "./token.js";

/**
 * Returns the token of another application, a JSON Web Token; null if no user is signed in. Called once, and again each
 * time the server has rejected the last token, for example because it has expired: return a new one then.
 */
export type TokenSource = () => Promise<string | null>;

/** The token of a client, wherever it comes from. */
export interface Session {
  readonly signedIn: Store<boolean>;
  /** Returns the token to send; null for an anonymous request. */
  token(): Promise<string | null>;
  /** Handles that the server has rejected a token. Returns true if there is another to try. */
  reject(token: string | null): Promise<boolean>;
  /** Replaces the token of a session of Fanfold. */
  set(token: string | null): void;
  /** Calls the listener when another session has begun, or this one has ended, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

export function openSession(source: TokenStore | TokenSource = memoryToken()): Session {
  return typeof source === "function" ? fromApplication(source) : fromStore(source);
}

function fromStore(store: TokenStore): Session {
  const signedIn = createStore(store.get() !== null);
  store.subscribe(() => signedIn.set(store.get() !== null));
  return {
    signedIn,
    token: async () => store.get(),
    async reject(token) {
      // Another tab, or a change of the password, may have replaced the token meanwhile.
      const isReplaced = store.get() !== token;
      if (!isReplaced) store.set(null);
      return isReplaced && store.get() !== null;
    },
    set: (token) => store.set(token),
    onChange: (listener) => store.subscribe(listener),
  };
}

function fromApplication(source: TokenSource): Session {
  const signedIn = createStore(true);
  let current: Promise<string | null> | undefined;
  const token = () => {
    const requested = (current ??= source());
    requested.then(
      (token) => {
        if (current === requested) signedIn.set(token !== null);
      },
      () => {
        // Ask again with the next request.
        if (current === requested) current = undefined;
      },
    );
    return requested;
  };
  return {
    signedIn,
    token,
    async reject(rejected) {
      // Requests that were rejected together ask for one new token.
      const held = await current;
      if (held === rejected) current = undefined;
      const next = await token();
      if (next !== rejected) return next !== null;
      signedIn.set(false);
      return false;
    },
    set(token) {
      current = token === null ? undefined : Promise.resolve(token);
      signedIn.set(token !== null);
    },
    onChange: (listener) => signedIn.subscribe(listener),
  };
}
