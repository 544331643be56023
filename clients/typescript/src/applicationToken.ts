import type { Session } from "./session.js";
import { createStore } from "./store.js";

/**
 * Signs in with the tokens of another application, JSON Web Tokens: pass the result to `createFanfold`.
 *
 * @param source Returns the token; null if no user is signed in. Called once, and again each time the server has
 * rejected the last token, for example because it has expired: return a new one of the same user then, since what was
 * rejected is sent again with it.
 */
export function applicationToken(source: () => Promise<string | null>): Session {
  const signedIn = createStore(true);
  let current: Promise<string | null> | undefined;
  const use = (token: string | null) => {
    signedIn.set(token !== null);
    return token;
  };
  const ask = () => {
    // Another token may have been set meanwhile.
    const asked: Promise<string | null> = source().then((token) => (current === asked ? use(token) : token));
    // Ask again with the next request.
    asked.catch(() => current === asked && (current = undefined));
    return asked;
  };
  const token = () => (current ??= ask());
  return {
    signedIn,
    token,
    async reject(rejected) {
      // Requests that were rejected together ask for one new token.
      const known = current;
      if ((await known) === rejected && current === known) current = undefined;
      const asked = token();
      if ((await asked) === rejected && current === asked) current = Promise.resolve(use(null));
      return (await token()) !== null;
    },
    isRefreshed: true,
    set(token) {
      current = Promise.resolve(use(token));
    },
    onChange: signedIn.subscribe,
  };
}
