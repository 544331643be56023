// A query that is retried after transient errors.

import { type AnyVariables, useQuery, type UseQueryArgs } from "urql";
import { useRetrying } from "./useRetrying";

export function useRetryingQuery<Data, Variables extends AnyVariables>(options: UseQueryArgs<Variables, Data>) {
  const [result, execute] = useQuery(options);
  const refetch = () => execute({ requestPolicy: "network-only" });
  useRetrying(result.error, refetch);
  // A stale result is shown while its missing parts are loaded.
  return { ...result, isLoading: result.fetching || result.stale, refetch };
}
