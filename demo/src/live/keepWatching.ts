// Keeps a subscription alive: when the connection is lost it is begun again, after a while that grows with each
// failure, and at once when the browser is back online.

import type { CombinedError, OperationResultSource, OperationResult } from "urql";
import { connection } from "./connection";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

interface Watching<Data> {
  /** Begins the subscription, from wherever it has to go on. */
  begin: () => OperationResultSource<OperationResult<Data>>;
  onData: (data: Data) => void;
  /** The server has refused; whether it is worth while to begin again later. */
  onRefused?: (error: CombinedError) => boolean;
}

export function keepWatching<Data>({ begin, onData, onRefused }: Watching<Data>): () => void {
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
    // What is refused is ended, too; it fails once.
    if (timer !== undefined) return;
    if (error.networkError) connection.lost();
    else if (!(onRefused?.(error) ?? true)) return;
    const wait = Math.min(FIRST_WAIT * 2 ** failures, LONGEST_WAIT);
    failures += 1;
    timer = setTimeout(watch, wait);
  };

  const watchAtOnce = () => {
    if (timer !== undefined) watch();
  };

  addEventListener("online", watchAtOnce);
  watch();
  return () => {
    removeEventListener("online", watchAtOnce);
    clearTimeout(timer);
    watched?.unsubscribe();
  };
}
