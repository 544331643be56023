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
  /** Begins with short delays again: an attempt has succeeded. */
  succeed(): void;
  /** Cancels the call. */
  cancel(): void;
}

export function createBackoff(): Backoff {
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onOnline: (() => void) | undefined;
  const cancel = () => {
    clearTimeout(timer);
    if (onOnline) globalThis.removeEventListener?.("online", onOnline);
    onOnline = undefined;
  };
  return {
    retry(attempt, demanded = 0) {
      cancel();
      const run = () => {
        cancel();
        attempt();
      };
      const longest = Math.min(FIRST * 2 ** failures, LONGEST);
      failures += 1;
      timer = setTimeout(run, Math.max(demanded * 1_000, longest / 2) + (Math.random() * longest) / 2);
      if (demanded === 0) globalThis.addEventListener?.("online", (onOnline = run));
    },
    succeed: () => void (failures = 0),
    cancel,
  };
}
