// An endless list, to whose first page the cache appends the others. It is read again whenever it is opened, as far as it
// was read before.

import { errorOf } from "@fanfold/client/urql";
import { useEffect, useRef, useState } from "react";
import { type TypedDocumentNode, useClient, useQuery } from "urql";
import { useRetrying } from "./useRetrying";

interface Page {
  edges?: readonly unknown[];
  nodes?: readonly unknown[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

const lengthOf = ({ edges, nodes }: Page) => (edges ?? nodes ?? []).length;

/** Returns the list in the data of a query, and what reads it. */
export function usePages<Data, Variables extends { after?: string | null }, List extends Page>(
  query: TypedDocumentNode<Data, Variables>,
  list: Omit<Variables, "after">,
  pageOf: (data: Data) => List | null | undefined,
) {
  const client = useClient();
  const [{ data }] = useQuery({ query, variables: list as Variables, requestPolicy: "cache-only" });
  const [error, setError] = useState<Error>();
  /** What is being read: while a read replaces the list, what was shown stays. */
  const [reading, setReading] = useState<"list" | "page" | null>("list");
  const stable = useRef<List>(undefined);
  const cached = (data && pageOf(data)) ?? undefined;
  if (reading !== "list" || stable.current === undefined) stable.current = cached;
  const page = stable.current;

  const readPage = async (after?: string | null) => {
    const variables = { ...list, after } as Variables;
    const result = await client.query(query, variables, { requestPolicy: "network-only" }).toPromise();
    const page = result.data && pageOf(result.data);
    if (!page && result.error) throw errorOf(result.error);
    return page;
  };
  const run = async (what: "list" | "page", task: () => Promise<unknown>) => {
    setReading(what);
    setError(undefined);
    await task().catch(setError);
    setReading(null);
  };
  const readList = async () => {
    const length = page ? lengthOf(page) : 0;
    let read = 0;
    let last = await readPage();
    while (last && (read += lengthOf(last)) < length && last.pageInfo.hasNextPage) {
      last = await readPage(last.pageInfo.endCursor);
    }
  };
  const refresh = () => void run("list", readList);
  const onMore = () => void run("page", () => readPage(page?.pageInfo.endCursor));

  useEffect(refresh, [JSON.stringify(list)]);
  const refetch = page ? onMore : refresh;
  useRetrying(error, refetch);
  return { page, isLoading: reading !== null, error, refetch, refresh, onMore };
}
