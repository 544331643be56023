// Posts in the normalised cache: where they are listed, and what refers to them.

import type { Cache, Entity, ResolveInfo, Resolver, Variables } from "@urql/exchange-graphcache";
import { graphql } from "../generated";
import { endlessList, endlessListWithout, insertIntoList, pagesOf, removeFromList } from "./pages";

const ReferrerCounts = graphql(`
  fragment ReferrerCounts on Post {
    id
    replyCount
    quoteCount
  }
`);

/** An entry that this client adds to a list. */
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

/** Those who have reposted an entry's post. */
const EntryReposters = graphql(`
  fragment EntryReposters on PostEdge {
    cursor
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

/** Returns the users whose reposts put an entry into its list. */
const repostersOf = (cache: Cache, entry: string) => cache.resolve(entry, "repostedBy") as string[];

/** Resolves a list of posts, without those that are gone. */
const endlessPosts = endlessListWithout(isGone);

/** Resolves a list of posts and reposts, without posts that are gone. */
export const endlessEntries = endlessListWithout((cache, entry) => isGone(cache, postOf(cache, entry)));

export const postResolvers = {
  Query: { post: present },
  Post: {
    inReplyTo: present,
    quoteOf: present,
    ancestors: presentAbove,
    replies: endlessPosts,
    quotes: endlessPosts,
    repostedBy: endlessList,
  },
};

const timeOf = (cache: Cache, post: string) => cache.resolve(post, "createdAt") as string;

/** Inserts a post by its time into a list whose newest or oldest post is the first. */
function insertByTime(cache: Cache, parent: string, list: string, post: string, first: "new" | "old", order?: string) {
  const own = timeOf(cache, post);
  const isBefore = (other: string) => (first === "new" ? timeOf(cache, other) > own : timeOf(cache, other) <= own);
  insertIntoList(cache, parent, list, post, isBefore, order);
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

/**
 * Inserts a post into a list of entries, unless it has the same entry: at the top if a user has reposted it, otherwise by
 * its time.
 */
function addEntry(cache: Cache, parent: Entity, list: "timeline" | "posts", post: string, reposter?: string): void {
  const isSame = (entry: string) => {
    const reposters = repostersOf(cache, entry);
    const isOf = reposter === undefined ? reposters.length === 0 : reposters.includes(reposter);
    return isOf && postOf(cache, entry) === post;
  };
  const pages = pagesOf(cache, parent, list);
  if (pages.length === 0 || pages.some(({ entries }) => entries.some(isSame))) return;
  // Only the server's entries have cursors; that of a page's end is in its `pageInfo`.
  const cursor = [list, post, reposter].join(" ");
  cache.writeFragment(AddedEntry, {
    cursor,
    node: { __typename: "Post", id: idOf(post) },
    repostedBy: reposter === undefined ? [] : [{ __typename: "User", id: idOf(reposter) }],
  });
  const own = timeOf(cache, post);
  const isNewer = (entry: string) =>
    reposter === undefined && repostersOf(cache, entry).length === 0 && timeOf(cache, postOf(cache, entry)) > own;
  insertIntoList(cache, parent, list, `PostEdge:${cursor}`, isNewer);
}

/** Inserts a post that has been received into the home timeline and the lists of conversations. */
export function addReceived(cache: Cache, post: string, reposter?: string): void {
  addEntry(cache, viewerOf(cache), "timeline", post, reposter);
  addToConversation(cache, post);
}

/** Inserts a post that the viewer has published. */
export function addPublished(cache: Cache, post: string): void {
  addReceived(cache, post);
  addEntry(cache, cache.resolve(post, "author") as string, "posts", post);
}

/** Adds the viewer's repost of a post to the viewer's posts and the post's list, or removes it. */
export function setReposted(cache: Cache, post: string, isReposted: boolean): void {
  const viewer = cache.resolve(viewerOf(cache), "user") as string;
  removeFromList(cache, post, "repostedBy", (user) => user === viewer);
  if (isReposted) {
    insertIntoList(cache, post, "repostedBy", viewer, () => false);
    addEntry(cache, viewer, "posts", post, viewer);
  } else {
    const isRepost = (entry: string) => postOf(cache, entry) === post && repostersOf(cache, entry).length > 0;
    removeFromList(cache, viewer, "posts", isRepost);
  }
}

/** Removes the posts of an author from the home timeline; those that others have reposted only if `areHidden`. */
export function removeAuthor(cache: Cache, author: string, areHidden: boolean): void {
  const isBy = (entry: string) => cache.resolve(postOf(cache, entry), "author") === author;
  const isRemoved = (entry: string) => isBy(entry) && (areHidden || repostersOf(cache, entry).length === 0);
  removeFromList(cache, viewerOf(cache), "timeline", isRemoved);
}

/**
 * Removes the reposts by a user from the home timeline: that of a post, or all. Other users' reposts of the same posts
 * stay.
 */
export function removeReposts(cache: Cache, user: string, post?: string): void {
  const isOf = (entry: string) => post === undefined || postOf(cache, entry) === post;
  const isOnlyRepost = (entry: string) => isOf(entry) && repostersOf(cache, entry).join() === user;
  removeFromList(cache, viewerOf(cache), "timeline", isOnlyRepost);
  for (const { entries } of pagesOf(cache, viewerOf(cache), "timeline")) {
    for (const entry of entries.filter(isOf)) {
      const listed = cache.readFragment(EntryReposters, entry);
      const others = listed?.repostedBy.filter(({ id }) => id !== idOf(user));
      if (listed && others) cache.writeFragment(EntryReposters, { ...listed, repostedBy: others });
    }
  }
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
