// A query that is retried after transient errors: after a delay, and at once when the connection is restored.

import { useEffect } from "react";
import { type AnyVariables, useQuery, type UseQueryArgs } from "urql";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";
import { isTransient, retryDelay } from "./failures";

const MIN_DELAY = 5_000;

export function useRetryingQuery<Data, Variables extends AnyVariables>(options: UseQueryArgs<Variables, Data>) {
  const [result, execute] = useQuery(options);
  const reachable = useStore(connection.store);
  const { error } = result;
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
  return { ...result, isLoading: result.fetching || result.stale, refetch };
}
