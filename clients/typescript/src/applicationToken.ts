import type { Session } from "./session.js";
import { createStore } from "./store.js";

/**
 * Signs in with the tokens of another application, JSON Web Tokens: pass the result to `createFanfold`.
 *
 * @param source Returns the token; null if no user is signed in. Called once, and again each time the server has rejected
 * the last token, for example because it has expired: return a new one then.
 */
export function applicationToken(source: () => Promise<string | null>): Session {
  const signedIn = createStore(true);
  let current: Promise<string | null> | undefined;
  const use = (token: string | null) => {
    signedIn.set(token !== null);
    return token;
  };
  const token = () => {
    const requested = (current ??= source().then(use));
    requested.catch(() => {
      // Ask again with the next request.
      if (current === requested) current = undefined;
    });
    return requested;
  };
  return {
    signedIn,
    token,
    async reject(rejected) {
      // Requests that were rejected together ask for one new token.
      if ((await current) === rejected) current = undefined;
      const next = await token();
      return use(next === rejected ? null : next) !== null;
    },
    set(token) {
      current = Promise.resolve(use(token));
    },
    onChange: signedIn.subscribe,
  };
}
