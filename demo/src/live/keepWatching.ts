// Keeps a subscription alive: resubscribes after a lost connection, with exponential backoff, and at once when the
// browser is back online.

import type { CombinedError, OperationResultSource, OperationResult } from "urql";
import { retryDelay } from "../api/failures";
import { connection } from "./connection";

const MIN_BACKOFF = 500;
const MAX_BACKOFF = 15_000;

interface Watching<Data> {
  /** Begins the subscription, resuming where it was interrupted. */
  begin: () => OperationResultSource<OperationResult<Data>>;
  onData: (data: Data) => void;
  /** Called when the server rejects the subscription; returns true to retry later. */
  onRejected?: (error: CombinedError) => boolean;
}

export function keepWatching<Data>({ begin, onData, onRejected }: Watching<Data>): () => void {
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watched: { unsubscribe: () => void } | undefined;

  const watch = () => {
    clearTimeout(timer);
    timer = undefined;
    watched?.unsubscribe();
    watched = begin().subscribe(({ data, error }) => {
      if (data) {
        failures = 0;
        onData(data);
      }
      if (error) fail(error);
    });
  };

  const fail = (error: CombinedError) => {
    // A rejected subscription also ends: count it as one failure.
    if (timer !== undefined) return;
    if (error.networkError) connection.lost();
    else if (!(onRejected?.(error) ?? true)) return;
    const backoff = Math.min(MIN_BACKOFF * 2 ** failures, MAX_BACKOFF);
    failures += 1;
    timer = setTimeout(watch, retryDelay(error, backoff));
  };

  const retryNow = () => {
    if (timer !== undefined) watch();
  };

  addEventListener("online", retryNow);
  watch();
  return () => {
    removeEventListener("online", retryNow);
    clearTimeout(timer);
    watched?.unsubscribe();
  };
}
