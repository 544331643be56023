import { type Client, gql } from "@urql/core";
import type {
  Cache,
  CacheExchangeOpts,
  Entity,
  OptimisticMutationResolver,
  UpdateResolver,
} from "@urql/exchange-graphcache";
import { linksOf, listsOf, valueOf } from "./graphcache.js";
import {
  countAfter,
  createReactions,
  EFFECTS,
  newEntry,
  type ReactionDocuments,
  type ReactionEffect,
  type Reactions,
} from "./reaction.js";
import { mutate, type Query } from "./urqlMutation.js";

const NewEntry = gql`
  fragment FanfoldNewEntry on PostEdge {
    cursor
    key
    positions
    listedAt
    node {
      __typename
      id
    }
    repostedBy {
      __typename
      id
    }
  }
`;

type Input = { input: { postId: string } };
type Data = { [field: string]: { post?: unknown; userErrors?: readonly unknown[] } | null };

/** Returns the fields of a post after a change; those that are not in the cache are left out. */
function postAfter(cache: Cache, id: string, { flag, count, isSet }: ReactionEffect) {
  const post = { __typename: "Post", id };
  const value = count && valueOf<number | undefined>(cache, post, count);
  const counted = value !== undefined && { [count!]: countAfter(value, valueOf(cache, post, flag), isSet) };
  return { ...post, [flag]: isSet, ...counted };
}

/** Makes the viewer's lists contain a post, as its first entry unless it is there, or not. */
function setListed(cache: Cache, id: string, effect: ReactionEffect): void {
  const viewer = cache.resolve("Query", "viewer") as Entity;
  if (!viewer) return;
  const post = { __typename: "Post", id };
  const key = cache.keyOfEntity(post)!;
  const entry = { ...newEntry(id, effect), __typename: "PostEdge", node: post, repostedBy: [] };
  const nodeOf = { edges: (edge: string) => cache.resolve(edge, "node"), nodes: (node: string) => node };
  for (const list of listsOf(cache, viewer, effect.list, {})) {
    for (const field of ["edges", "nodes"] as const) {
      if (!cache.resolve(list, field)) continue;
      const entries = linksOf(cache, list, field);
      const others = entries.filter((other) => nodeOf[field](other) !== key);
      const isListed = others.length < entries.length;
      if (isListed === effect.isSet) continue;
      if (effect.isSet) cache.writeFragment(NewEntry, entry);
      const added = field === "edges" ? cache.keyOfEntity(entry) : key;
      cache.link(list, field, effect.isSet ? [added, ...others] : others);
    }
  }
}

/** Returns the expected payload of a change. */
const expected =
  (effect: ReactionEffect): OptimisticMutationResolver<Input, any> =>
  ({ input: { postId } }, cache) => ({
    __typename: `${effect.change[0]!.toUpperCase()}${effect.change.slice(1)}Payload`,
    post: postAfter(cache, postId, effect),
    userErrors: [],
  });

/** Updates the viewer's lists after a change that the server has accepted, or is expected to. */
const onChange =
  (effect: ReactionEffect): UpdateResolver<Data, Input> =>
  (data, { input: { postId } }, cache, { fieldName }) => {
    const payload = data[fieldName];
    if (!payload || payload.userErrors?.length) return;
    // A post that the viewer can no longer see is not in the response.
    if (payload.post === null) {
      const post = postAfter(cache, postId, effect);
      const fields = Object.keys(post).filter((field) => field !== "__typename");
      cache.writeFragment(gql(`fragment Fanfold_${fields.join("_")} on Post { ${fields.join(" ")} }`), post);
    }
    setListed(cache, postId, effect);
  };

/**
 * Returns options of graphcache for likes and bookmarks, to pass to `fanfoldCache`: shown at once, also in the viewer's
 * lists, and rolled back if the server rejects them.
 *
 * @param own Further options, which take precedence field by field.
 */
export function reactionCache(own: CacheExchangeOpts = {}): CacheExchangeOpts {
  const effects = Object.values(EFFECTS);
  const ofEach = (resolverOf: (effect: ReactionEffect) => any) =>
    Object.fromEntries(effects.map((effect) => [effect.change, resolverOf(effect)]));
  return {
    ...own,
    updates: { ...own.updates, Mutation: { ...ofEach(onChange), ...own.updates?.["Mutation"] } },
    optimistic: { ...ofEach(expected), ...own.optimistic },
  };
}

/** Likes and bookmarks in a cache with {@link reactionCache}, for the `reactions` of a binding. */
export const urqlReactions = (client: Client, mutations: ReactionDocuments<Query>): Reactions =>
  createReactions(mutations, (mutation, postId) => mutate(client, mutation, { postId }));

export type { Reaction, ReactionChange, ReactionDocuments, Reactions } from "./reaction.js";
