// An endless list, to whose first page the cache appends the others. It is read again whenever it is opened, as far as
// it was read before, and what has failed is retried.

import { type ListPage, useList } from "@fanfold/client/react";
import type { TypedDocumentNode } from "urql";
import { useRetrying } from "./useRetrying";

/** Returns the list in the data of a query, and what reads it. */
export function usePages<Data, Variables extends { after?: string | null }, Page extends ListPage>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
  pageOf: (data: Data) => Page | null | undefined,
) {
  const { loadMore: onMore, retry: refetch, ...reading } = useList({ query, variables, pageOf });
  useRetrying(reading.error, refetch);
  return { ...reading, onMore, refetch };
}
