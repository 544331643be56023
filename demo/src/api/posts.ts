// Posts in the normalised cache: where they are listed, and what refers to them.

import type { Cache, ResolveInfo, Resolver, Variables } from "@urql/exchange-graphcache";
import { graphql } from "../generated";
import { endlessListWithout, insertIntoList, pagesOf } from "./pages";

const ReferrerCounts = graphql(`
  fragment ReferrerCounts on Post {
    id
    replyCount
    quoteCount
  }
`);

/** The counts that change when a post is published. */
export const ReferredCounts = graphql(`
  fragment ReferredCounts on Post {
    inReplyTo {
      id
      replyCount
    }
    quoteOf {
      id
      quoteCount
    }
  }
`);

/** The keys of the posts known to be deleted. Any number of lists and posts may refer to one. */
const deleted = new Set<string>();

/** Returns true if a post has been deleted, or if the viewer blocks its author. */
function isGone(cache: Cache, post: string): boolean {
  if (deleted.has(post)) return true;
  const relation = cache.resolve(cache.resolve(post, "author") as string, "relation");
  return typeof relation === "string" && (cache.resolve(relation, "blockedSince") ?? null) !== null;
}

/** Returns the cached value of the field that a resolver resolves. */
function cached<Value>(cache: Cache, variables: Variables, { parentKey, fieldName }: ResolveInfo) {
  const hasArguments = Object.keys(variables).length > 0;
  return cache.resolve(parentKey, fieldName, hasArguments ? variables : undefined) as Value | null | undefined;
}

/** Resolves a reference to a post: null if that is gone. */
const present: Resolver = (_parent, variables, cache, info) => {
  const post = cached<string>(cache, variables, info);
  return post && isGone(cache, post) ? null : post;
};

/** Resolves the posts above a post: up to the first that is gone. */
const presentAbove: Resolver = (_parent, variables, cache, info) => {
  const posts = cached<string[]>(cache, variables, info);
  const end = posts?.findIndex((post) => isGone(cache, post)) ?? -1;
  return end === -1 ? posts : posts?.slice(0, end);
};

/** Resolves a list of posts, without those that are gone. */
export const endlessPosts = endlessListWithout(isGone);

export const postResolvers = {
  Query: { post: present },
  Post: {
    inReplyTo: present,
    quoteOf: present,
    ancestors: presentAbove,
    replies: endlessPosts,
    quotes: endlessPosts,
  },
};

/** Inserts a post by its time into a list whose newest or oldest post is the first. */
function insertByTime(cache: Cache, parent: string, list: string, post: string, first: "new" | "old", order?: string) {
  const timeOf = (post: string) => cache.resolve(post, "createdAt") as string;
  const own = timeOf(post);
  const isAfter = (other: string) => (first === "new" ? timeOf(other) <= own : timeOf(other) > own);
  insertIntoList(cache, parent, list, post, isAfter, order);
}

/** Inserts a post into the lists of the posts that it refers to. Their counts come with the post. */
function addToConversation(cache: Cache, post: string): void {
  const parent = cache.resolve(post, "inReplyTo");
  if (typeof parent === "string") {
    insertByTime(cache, parent, "replies", post, "old", "OLDEST");
    insertByTime(cache, parent, "replies", post, "new", "NEWEST");
  }
  const quoted = cache.resolve(post, "quoteOf");
  if (typeof quoted === "string") insertByTime(cache, quoted, "quotes", post, "new");
}

/** Inserts a post that has been received into the home timeline and the lists of conversations. */
export function addReceived(cache: Cache, post: string): void {
  insertByTime(cache, cache.resolve("Query", "viewer") as string, "timeline", post, "new");
  addToConversation(cache, post);
}

/** Inserts a post that the viewer has published. */
export function addPublished(cache: Cache, post: string): void {
  addReceived(cache, post);
  const author = cache.resolve(post, "author") as string;
  if (pagesOf(cache, author, "posts").length > 0) insertIntoList(cache, author, "posts", post, () => true);
}

/** Lowers the counts of the posts that a deleted post referred to. */
function lowerCounts(cache: Cache, post: string): void {
  // Only public posts are counted.
  if (cache.resolve(post, "visibility") !== "PUBLIC") return;
  for (const [reference, count] of [["inReplyTo", "replyCount"] as const, ["quoteOf", "quoteCount"] as const]) {
    const target = cache.resolve(post, reference);
    const counts = typeof target === "string" ? cache.readFragment(ReferrerCounts, target) : null;
    if (counts) cache.writeFragment(ReferrerCounts, { ...counts, [count]: counts[count] - 1 });
  }
}

/** Removes a deleted post from every list, and every reference to it. */
export function removePost(cache: Cache, postId: string): void {
  const post = `Post:${postId}`;
  if (deleted.has(post)) return;
  lowerCounts(cache, post);
  deleted.add(post);
  cache.invalidate(post);
}
