// Changes of endless lists in the cache. All pages of a list are in its first.

import type { Cache, Entity } from "@urql/exchange-graphcache";

interface List {
  args: Record<string, unknown>;
  hasNextPage: boolean;
}

/** Replaces the entries of all cached lists of a field, which differ in their arguments. */
export function changeLists(
  cache: Cache,
  parent: Entity,
  fieldName: string,
  change: (entries: string[], list: List) => string[],
): void {
  for (const { fieldKey, fieldName: name, arguments: given } of cache.inspectFields(parent)) {
    const key = name === fieldName && !given?.after && cache.resolve(parent, fieldKey);
    if (typeof key !== "string") continue;
    const hasNextPage = cache.resolve(cache.resolve(key, "pageInfo") as string, "hasNextPage") === true;
    for (const field of ["edges", "nodes"]) {
      const entries = cache.resolve(key, field) as string[] | undefined;
      if (entries) cache.link(key, field, change(entries, { args: given ?? {}, hasNextPage }));
    }
  }
}

/** Makes a list contain an entry or not. A new entry is the first. */
export function setListed(cache: Cache, parent: Entity, fieldName: string, entry: string, isListed: boolean): void {
  changeLists(cache, parent, fieldName, (entries) => {
    if (!isListed) return entries.filter((other) => other !== entry);
    return entries.includes(entry) ? entries : [entry, ...entries];
  });
}
