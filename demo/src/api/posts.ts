// Posts in the normalised cache: where they are listed, and what refers to them.

import type { Cache, Entity, ResolveInfo, Resolver, Variables } from "@urql/exchange-graphcache";
import { graphql } from "../generated";
import { changeLists, setListed } from "./lists";

const ReferrerCounts = graphql(`
  fragment ReferrerCounts on Post {
    id
    replyCount
    quoteCount
  }
`);

/** An entry that this client adds to the viewer's posts, until they are read again. */
const AddedEntry = graphql(`
  fragment AddedEntry on PostEdge {
    cursor
    node {
      __typename
      id
    }
    repostedBy {
      __typename
      id
    }
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

/** Returns the id of the object with this key. */
const idOf = (key: string) => key.slice(key.indexOf(":") + 1);

export const viewerOf = (cache: Cache) => cache.resolve("Query", "viewer") as Entity;

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

/** Returns the post of an entry of a list. */
const postOf = (cache: Cache, entry: string) => cache.resolve(entry, "node") as string;

/** Resolves the entries of a list, without those whose posts are gone. */
const presentEntries =
  (postOf: (cache: Cache, entry: string) => string): Resolver =>
  (_parent, variables, cache, info) =>
    cached<string[]>(cache, variables, info)?.filter((entry) => !isGone(cache, postOf(cache, entry)));

const presentPosts = { nodes: presentEntries((_cache, post) => post) };
const presentEdges = { edges: presentEntries(postOf) };

export const postResolvers = {
  Query: { post: present },
  Post: { inReplyTo: present, quoteOf: present, ancestors: presentAbove },
  PostConnection: presentPosts,
  PostListConnection: presentEdges,
  TimelineConnection: presentEdges,
};

const timeOf = (cache: Cache, post: string) => cache.resolve(post, "createdAt") as string;

/** Inserts a post by its time into lists of posts whose oldest or newest post is the first, within the pages read. */
function insertByTime(cache: Cache, parent: string, fieldName: string, post: string): void {
  const own = timeOf(cache, post);
  changeLists(cache, parent, fieldName, (posts, { args, hasNextPage }) => {
    const isOldestFirst = args.order === "OLDEST";
    const isBefore = (other: string) => (isOldestFirst ? timeOf(cache, other) <= own : timeOf(cache, other) > own);
    const place = posts.findLastIndex(isBefore) + 1;
    const isBeyond = place > 0 && place === posts.length && hasNextPage;
    return isBeyond || posts.includes(post) ? posts : posts.toSpliced(place, 0, post);
  });
}

/** Inserts a post into the lists of the posts that it refers to. Their counts come with the post. */
export function addToConversation(cache: Cache, post: string): void {
  for (const [reference, list] of [["inReplyTo", "replies"] as const, ["quoteOf", "quotes"] as const]) {
    const target = cache.resolve(post, reference);
    if (typeof target === "string") insertByTime(cache, target, list, post);
  }
}

/** Inserts a post that the viewer has just published or reposted into the viewer's posts. */
function addOwn(cache: Cache, post: string, reposter?: string): void {
  const cursor = ["added", post, reposter].join(" ");
  cache.writeFragment(AddedEntry, {
    cursor,
    node: { __typename: "Post", id: idOf(post) },
    repostedBy: reposter === undefined ? [] : [{ __typename: "User", id: idOf(reposter) }],
  });
  setListed(cache, cache.resolve(viewerOf(cache), "user") as string, "posts", `PostEdge:${cursor}`, true);
}

/** Inserts a post that the viewer has published. The home timeline receives it as an event. */
export function addPublished(cache: Cache, post: string): void {
  addToConversation(cache, post);
  addOwn(cache, post);
}

/** Adds the viewer's repost of a post to the viewer's posts and the post's list, or removes it. */
export function setReposted(cache: Cache, post: string, isReposted: boolean): void {
  const viewer = cache.resolve(viewerOf(cache), "user") as string;
  setListed(cache, post, "repostedBy", viewer, isReposted);
  if (isReposted) return addOwn(cache, post, viewer);
  const isRepost = (entry: string) =>
    postOf(cache, entry) === post && (cache.resolve(entry, "repostedBy") as string[]).length > 0;
  changeLists(cache, viewer, "posts", (entries) => entries.filter((entry) => !isRepost(entry)));
}

/** Shows the viewer among those who like a post, or not. */
export const setLiked = (cache: Cache, post: string, isLiked: boolean): void =>
  setListed(cache, post, "likedBy", cache.resolve(viewerOf(cache), "user") as string, isLiked);

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
