import { listen } from "./environment.js";

/** The first and the longest delay, in milliseconds. */
const FIRST = 500;
const LONGEST = 15_000;

/** Delays between attempts that grow and vary, so that clients do not return together. */
export interface Backoff {
  /**
   * Calls the function after the next delay, or at once when the browser is online again, unless the server has
   * demanded a delay. Replaces the call before.
   *
   * @param demanded The delay that the server has demanded, in seconds.
   */
  retry(attempt: () => void, demanded?: number): void;
  /** Begins with short delays again: an attempt has succeeded. So has one that lasted longer than the longest delay. */
  succeed(): void;
  /** Cancels the call. */
  cancel(): void;
}

export function createBackoff(): Backoff {
  let failures = 0;
  let begun = Date.now();
  let cancel = () => {};
  return {
    retry(attempt, demanded = 0) {
      cancel();
      if (Date.now() - begun > LONGEST) failures = 0;
      const run = () => {
        cancel();
        begun = Date.now();
        attempt();
      };
      const longest = Math.min(FIRST * 2 ** failures++, LONGEST);
      const timer = setTimeout(run, Math.max(demanded * 1_000, longest / 2) + (Math.random() * longest) / 2);
      const stopListening = demanded > 0 ? undefined : listen("online", run);
      cancel = () => {
        clearTimeout(timer);
        stopListening?.();
      };
    },
    succeed() {
      failures = 0;
    },
    cancel: () => cancel(),
  };
}
