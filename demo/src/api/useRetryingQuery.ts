// A query that is retried after transient errors: after a delay, and at once when the connection is restored.

import { useEffect, useState } from "react";
import { type AnyVariables, type CombinedError, useQuery, type UseQueryArgs, type UseQueryState } from "urql";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";
import { isTransient, retryDelay } from "./failures";

const MIN_DELAY = 5_000;

/**
 * Returns the error of a result. When other data changes, the cache repeats the result without its error: the error
 * stands while parts of the result are missing.
 */
function useError<Data, Variables extends AnyVariables>(result: UseQueryState<Data, Variables>) {
  const [last, setLast] = useState<CombinedError>();
  const isPartial = result.operation?.context.meta?.cacheOutcome === "partial";
  const error = result.error ?? (isPartial ? last : undefined);
  if (error !== last) setLast(error);
  return error;
}

export function useRetryingQuery<Data, Variables extends AnyVariables>(options: UseQueryArgs<Variables, Data>) {
  const [result, execute] = useQuery(options);
  const reachable = useStore(connection.store);
  const error = useError(result);
  const refetch = () => execute({ requestPolicy: "network-only" });

  const isWaiting = error !== undefined && isTransient(error);

  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(refetch, retryDelay(error, MIN_DELAY));
    return () => clearTimeout(timer);
  }, [error]);

  useEffect(() => {
    if (isWaiting && reachable === "back") refetch();
  }, [reachable]);

  // A stale result is shown while its missing parts are loaded.
  return { ...result, error, isLoading: result.fetching || result.stale, refetch };
}
