import type { ApolloCache, ApolloClient, Reference } from "@apollo/client";
import type { DocumentNode } from "graphql";
import type { CachedList } from "./apolloList.js";
import { mutate } from "./apolloMutation.js";
import { countAfter, createReactions, newEntry, type ReactionDocuments, type ReactionEffect } from "./reaction.js";
import type { Reactions } from "./reaction.js";

/** Returns the id of the viewer in the cache; undefined if it is not there. */
function viewerIn(cache: ApolloCache): string | undefined {
  let id: string | undefined;
  const viewer = (reference: Reference | null) => {
    id = reference?.__ref;
    return reference;
  };
  cache.modify<{ viewer: any }>({ fields: { viewer } });
  return id;
}

/** Returns a list with a post, as its first entry unless it is there, or without it. */
function setListed(list: CachedList, post: Reference, entry: object | undefined): CachedList {
  const { edges, nodes } = list;
  const isOther = ({ __ref }: Reference) => __ref !== post.__ref;
  const isListed = !(edges ?? []).every(({ node }) => isOther(node)) || !(nodes ?? []).every(isOther);
  if (Boolean(entry) === isListed) return list;
  const added = { ...entry, __typename: "PostEdge", node: post, repostedBy: [] };
  return {
    ...list,
    ...(edges && { edges: entry ? [added as never, ...edges] : edges.filter(({ node }) => isOther(node)) }),
    ...(nodes && { nodes: entry ? [post, ...nodes] : nodes.filter(isOther) }),
  };
}

/** Applies a change to the post and the viewer's list in the cache. */
function apply(cache: ApolloCache, postId: string, effect: ReactionEffect): void {
  const { flag, count, list, isSet } = effect;
  const id = cache.identify({ __typename: "Post", id: postId })!;
  cache.modify<Record<string, any>>({
    id,
    fields: {
      [flag]: () => isSet,
      ...(count && { [count]: (value: number, { readField }) => countAfter(value, readField(flag), isSet) }),
    },
  });
  const viewer = viewerIn(cache);
  const entry = isSet ? newEntry(postId, effect) : undefined;
  const change = (shown: CachedList | null) => shown && setListed(shown, { __ref: id }, entry);
  if (viewer) cache.modify<Record<string, any>>({ id: viewer, fields: { [list]: change } });
}

/**
 * Likes and bookmarks in Apollo Client's cache, for the `reactions` of a binding: shown at once, also in the viewer's lists,
 * and rolled back if the server rejects them.
 */
export const apolloReactions = (client: ApolloClient, mutations: ReactionDocuments<DocumentNode>): Reactions =>
  createReactions(mutations, (mutation, postId, effect) => {
    const change = (cache: ApolloCache) => apply(cache, postId, effect);
    return mutate(client, mutation, { postId }, { expect: change, confirm: change });
  });

export type { Reaction, ReactionChange, ReactionDocuments, Reactions } from "./reaction.js";
