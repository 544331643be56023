// A query for an endless list, of which the cache concatenates the pages.

import { useState } from "react";
import { type TypedDocumentNode, useClient } from "urql";
import { useRetryingQuery } from "./useRetryingQuery";

export function usePages<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  list: Omit<Variables, "after">,
) {
  const client = useClient();
  const [after, setAfter] = useState<string>();
  const variablesAt = (after?: string) => ({ ...list, after }) as Variables;
  const reading = useRetryingQuery({
    query,
    variables: variablesAt(after),
    // The first page is refreshed whenever the list is opened; later pages come from the cache.
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  /** Refetches the first page and the last one read: entries are added to either end of a list. */
  const refresh = () => {
    reading.refetch();
    if (after !== undefined) void client.query(query, variablesAt(), { requestPolicy: "network-only" }).toPromise();
  };
  return { ...reading, onMore: setAfter, refresh };
}
