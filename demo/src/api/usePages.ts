// An endless list, to whose first page the cache appends the others. It is read again whenever it is opened, as far as it
// was read before.

import { errorOf } from "@fanfold/client/urql";
import { useEffect, useRef, useState } from "react";
import { type TypedDocumentNode, useClient, useQuery } from "urql";
import type { ListReading } from "../lists/ListEnd";
import { useRetrying } from "./useRetrying";

interface Page {
  edges?: readonly unknown[];
  nodes?: readonly unknown[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

const lengthOf = (page: Page | undefined) => (page?.edges ?? page?.nodes ?? []).length;

/** Returns the list in the data of a query, and what reads it. */
export function usePages<Data, Variables extends { after?: string | null }, List extends Page>(
  query: TypedDocumentNode<Data, Variables>,
  list: Omit<Variables, "after">,
  pageOf: (data: Data) => List | null | undefined,
): ListReading & { page?: List; refresh: () => void } {
  const client = useClient();
  const [{ data }] = useQuery({ query, variables: list as Variables, requestPolicy: "cache-only" });
  const [reading, setReading] = useState<"list" | "page" | null>("list");
  const [failure, setFailure] = useState<{ what: "list" | "page"; error: Error }>();
  /** Reads take turns: a page that arrives while the list is replaced would not continue it. */
  const turn = useRef<Promise<unknown>>(Promise.resolve());

  const cached = (data && pageOf(data)) ?? undefined;
  const [stable, setStable] = useState(cached);
  // While the list is replaced, what was shown stays.
  const isShorter = reading === "list" && lengthOf(cached) < lengthOf(stable);
  if (!isShorter && stable !== cached) setStable(cached);
  const page = isShorter ? stable : cached;

  const readPage = async (after?: string | null) => {
    const variables = { ...list, after } as Variables;
    const { data, error } = await client.query(query, variables, { requestPolicy: "network-only" }).toPromise();
    const page = data && pageOf(data);
    if (!page && error) throw errorOf(error);
    return page;
  };
  const readList = async () => {
    let read = 0;
    let last = await readPage();
    while (last && (read += lengthOf(last)) < lengthOf(page) && last.pageInfo.hasNextPage) {
      last = await readPage(last.pageInfo.endCursor);
    }
  };
  const run = (what: "list" | "page", task: () => Promise<unknown>) => {
    turn.current = turn.current.then(async () => {
      setReading(what);
      setFailure(undefined);
      await task().catch((error: Error) => setFailure({ what, error }));
      setReading(null);
    });
  };
  const refresh = () => run("list", readList);
  const onMore = () => {
    if (reading === null) run("page", () => readPage(page?.pageInfo.endCursor));
  };

  useEffect(refresh, []);
  const refetch = failure?.what === "page" ? onMore : refresh;
  useRetrying(failure?.error, refetch);
  return {
    page,
    hasMore: page?.pageInfo.hasNextPage,
    isLoading: reading !== null,
    error: failure?.error,
    refetch,
    refresh,
    onMore,
  };
}
