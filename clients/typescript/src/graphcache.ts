import type { Cache, Entity, FieldInfo } from "@urql/exchange-graphcache";
import { listArguments } from "./schema.js";

/** Returns the keys of the objects that a field of the cache links. */
export const linksOf = (cache: Cache, entity: Entity, field: string) =>
  (cache.resolve(entity, field) ?? []) as string[];

export const valueOf = <Value>(cache: Cache, entity: Entity, field: string) => cache.resolve(entity, field) as Value;

const textOf = (args: Record<string, unknown>) => JSON.stringify(Object.entries(listArguments(args)).sort());

/** Returns the keys of the first pages of a list: one for each size of a page. */
export function listsOf(
  cache: Cache,
  parent: Entity,
  field: string,
  args: Record<string, unknown>,
  size?: unknown,
): string[] {
  const isList = ({ fieldName, arguments: given }: FieldInfo) =>
    fieldName === field &&
    (size === undefined || given?.["first"] === size) &&
    !given?.["after"] &&
    textOf(given ?? {}) === textOf(args);
  const lists = cache.inspectFields(parent).filter(isList);
  return lists.map(({ fieldKey }) => cache.resolve(parent, fieldKey)).filter((list) => typeof list === "string");
}
