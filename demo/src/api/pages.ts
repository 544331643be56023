// Endless lists in the cache: the pages of a connection, concatenated by following their end cursors. A refetched first
// page begins a new chain, so that pages that no longer fit drop out.

import type { Cache, Entity, Resolver } from "@urql/exchange-graphcache";

/** The number of entries of a page; queries for pages must use the same. */
export const PAGE_SIZE = 20;

/** The lists whose queries select edges, because an entry is more than its node; those of all others select nodes. */
const LISTS_OF_EDGES = ["timeline", "posts"];

const entryField = (list: string) => (LISTS_OF_EDGES.includes(list) ? "edges" : "nodes");

interface Page {
  key: string;
  /** The keys of the edges or nodes. */
  entries: string[];
  endCursor: string | null;
  hasNextPage: boolean;
}

function pageAt(cache: Cache, parent: Entity, fieldName: string, order: string | null, after: string | null) {
  const isPage = ({ arguments: given }: { arguments: Record<string, unknown> | null }) =>
    given?.first === PAGE_SIZE && (given.order ?? null) === order && (given.after ?? null) === after;
  const field = cache.inspectFields(parent).find((field) => field.fieldName === fieldName && isPage(field));
  const key = field && cache.resolve(parent, field.fieldKey);
  if (typeof key !== "string") return null;
  const pageInfo = cache.resolve(key, "pageInfo") as string;
  return {
    key,
    entries: (cache.resolve(key, entryField(fieldName)) as string[] | undefined) ?? [],
    endCursor: (cache.resolve(pageInfo, "endCursor") as string | null | undefined) ?? null,
    hasNextPage: cache.resolve(pageInfo, "hasNextPage") === true,
  };
}

/** Returns the cached pages of a list, in one of its orders if it has several, beginning with the first. */
export function pagesOf(cache: Cache, parent: Entity, fieldName: string, order: string | null = null): Page[] {
  const pages: Page[] = [];
  let page = pageAt(cache, parent, fieldName, order, null);
  while (page !== null) {
    pages.push(page);
    page = page.endCursor === null ? null : pageAt(cache, parent, fieldName, order, page.endCursor);
  }
  return pages;
}

/** Resolves any page of a list to all cached pages, up to the last one read, without the hidden entries. */
export const endlessListWithout =
  (isHidden: (cache: Cache, entry: string) => boolean): Resolver =>
  (_parent, variables, cache, info) => {
    const { parentKey, fieldName } = info;
    const requested = cache.resolve(parentKey, fieldName, variables) as string | null | undefined;
    if (variables.first !== PAGE_SIZE) return requested;
    const pages = pagesOf(cache, parentKey, fieldName, (variables.order ?? null) as string | null);
    const last = pages.at(-1);
    if (last === undefined || pages[0] === undefined) return requested;
    // The requested page is not cached yet: return those before it meanwhile.
    if (requested === undefined) info.partial = true;
    return {
      __typename: cache.resolve(last.key, "__typename") as string,
      totalCount: cache.resolve(pages[0].key, "totalCount") as number | null,
      [entryField(fieldName)]: [...new Set(pages.flatMap((page) => page.entries))].filter(
        (entry) => !isHidden(cache, entry),
      ),
      pageInfo: {
        __typename: "PageInfo",
        startCursor: cache.resolve(cache.resolve(pages[0].key, "pageInfo") as string, "startCursor") as string | null,
        endCursor: last.endCursor,
        hasNextPage: last.hasNextPage,
      },
    };
  };

/** Resolves any page of a list to all cached pages, up to the last one read. */
export const endlessList = endlessListWithout(() => false);

/** Removes entries from all pages of a list. */
export function removeFromList(
  cache: Cache,
  parent: Entity,
  fieldName: string,
  shouldRemove: (entry: string) => boolean,
): void {
  for (const { key, entries } of pagesOf(cache, parent, fieldName)) {
    const kept = entries.filter((entry) => !shouldRemove(entry));
    if (kept.length < entries.length) cache.link(key, entryField(fieldName), kept);
  }
}

/** Inserts an entry after the last one that `isBefore` it, if that position is within the cached pages. */
export function insertIntoList(
  cache: Cache,
  parent: Entity,
  fieldName: string,
  entry: string,
  isBefore: (other: string) => boolean,
  order: string | null = null,
): void {
  const pages = pagesOf(cache, parent, fieldName, order);
  if (pages.some((page) => page.entries.includes(entry))) return;
  const page = pages.findLast(({ entries }) => entries.some(isBefore)) ?? pages[0];
  if (page === undefined) return;
  const place = page.entries.findLastIndex(isBefore) + 1;
  const isBeyond = place > 0 && place === page.entries.length && page === pages.at(-1) && page.hasNextPage;
  if (!isBeyond) cache.link(page.key, entryField(fieldName), page.entries.toSpliced(place, 0, entry));
}
