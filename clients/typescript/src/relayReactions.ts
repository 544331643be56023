import type { Environment, GraphQLTaggedNode, RecordProxy, RecordSourceProxy } from "relay-runtime";
import { countAfter, createReactions, newEntry, type ReactionDocuments, type ReactionEffect } from "./reaction.js";
import type { Reactions } from "./reaction.js";
import { mutate } from "./relayMutation.js";

/** Returns the entry of a post that was just added to a list. */
function entryOf(store: RecordSourceProxy, post: RecordProxy, effect: ReactionEffect): RecordProxy {
  const entry = newEntry(post.getDataID(), effect);
  const id = `client:fanfold:${entry.cursor}`;
  const edge = store.get(id) ?? store.create(id, "PostEdge");
  for (const [field, value] of Object.entries(entry)) edge.setValue(value, field);
  edge.setLinkedRecord(post, "node");
  edge.setLinkedRecords([], "repostedBy");
  return edge;
}

/** Returns the viewer's lists in the store, and the first pages of those without `@connection`. */
function listsOf(environment: Environment, store: RecordSourceProxy, field: string): RecordProxy[] {
  const viewer = store.getRoot().getLinkedRecord("viewer");
  const stored = viewer && environment.getStore().getSource().get(viewer.getDataID());
  // The key of a connection ends with the name of its field.
  const isList = new RegExp(`^(__\\w+_${field}_connection|${field})(\\((?!.*after:).*)?$`);
  const names = Object.keys(stored ?? {}).filter((name) => isList.test(name));
  return names.flatMap((name) => viewer?.getLinkedRecord(name) ?? []);
}

/** Makes the viewer's lists contain a post, as its first entry unless it is there, or not. */
function setListed(environment: Environment, store: RecordSourceProxy, post: RecordProxy, effect: ReactionEffect) {
  const nodeOf = { edges: (edge: RecordProxy) => edge.getLinkedRecord("node"), nodes: (node: RecordProxy) => node };
  for (const list of listsOf(environment, store, effect.list)) {
    for (const field of ["edges", "nodes"] as const) {
      const entries = list.getLinkedRecords(field);
      const others = entries?.filter((entry) => nodeOf[field](entry)?.getDataID() !== post.getDataID());
      const isListed = entries?.length !== others?.length;
      if (!others || isListed === effect.isSet) continue;
      const added = field === "edges" ? entryOf(store, post, effect) : post;
      list.setLinkedRecords(effect.isSet ? [added, ...others] : others, field);
    }
  }
}

/** Applies a change to the post and the viewer's lists in the store. */
function apply(environment: Environment, store: RecordSourceProxy, postId: string, effect: ReactionEffect): void {
  const { flag, count, isSet } = effect;
  const post = store.get(postId);
  if (!post) return;
  const value = count && post.getValue(count);
  if (typeof value === "number") post.setValue(countAfter(value, post.getValue(flag), isSet), count!);
  post.setValue(isSet, flag);
  setListed(environment, store, post, effect);
}

/**
 * Likes and bookmarks in Relay's store, for the `reactions` of a binding: shown at once, also in the viewer's lists, and
 * rolled back if the server rejects them.
 */
export const relayReactions = (environment: Environment, mutations: ReactionDocuments<GraphQLTaggedNode>): Reactions =>
  createReactions(mutations, (mutation, postId, effect) => {
    const change = (store: RecordSourceProxy) => apply(environment, store, postId, effect);
    return mutate(environment, mutation, { postId }, change, change);
  });

export type { Reaction, ReactionChange, ReactionDocuments, Reactions } from "./reaction.js";
