import type { UserError } from "./fanfold.js";
import { createStore, type Store } from "./store.js";

/** What a viewer adds to a post, and takes back. */
export type Reaction = "like" | "bookmark";

/** A mutation that adds a reaction, or takes it back. */
export type ReactionChange = "like" | "unlike" | "bookmark" | "removeBookmark";

/** The post of a button that likes. */
export interface LikedPost {
  readonly id: string;
  readonly likeCount: number;
  readonly viewerHasLiked: boolean | null | undefined;
}

/** The post of a button that bookmarks. */
export interface BookmarkedPost {
  readonly id: string;
  readonly viewerHasBookmarked: boolean | null | undefined;
}

/**
 * The mutations of reactions, each with the variable `$input`. Select `post { id viewerHasLiked likeCount }` of likes,
 * `post { id viewerHasBookmarked }` of bookmarks, and `userErrors { code message }`. Those that an app does not use can be
 * left out.
 */
export type ReactionDocuments<Mutation> = { readonly [change in ReactionChange]?: Mutation };

/** What a change does to a post, and to the viewer's list of posts with the reaction. */
export interface ReactionEffect {
  readonly change: ReactionChange;
  /** True if the change adds the reaction. */
  readonly isSet: boolean;
  /** The field of `Post` that is true while the viewer has the reaction. */
  readonly flag: "viewerHasLiked" | "viewerHasBookmarked";
  /** The field of `Post` with the number of reactions; undefined if there is none. */
  readonly count: "likeCount" | undefined;
  /** The field of `Viewer` that lists the posts. */
  readonly list: "likes" | "bookmarks";
}

const effect = (
  change: ReactionChange,
  isSet: boolean,
  ...[flag, list, count]: [ReactionEffect["flag"], ReactionEffect["list"], ReactionEffect["count"]?]
): ReactionEffect => ({ change, isSet, flag, list, count });

/** The effect of each change. */
export const EFFECTS: Record<ReactionChange, ReactionEffect> = {
  like: effect("like", true, "viewerHasLiked", "likes", "likeCount"),
  unlike: effect("unlike", false, "viewerHasLiked", "likes", "likeCount"),
  bookmark: effect("bookmark", true, "viewerHasBookmarked", "bookmarks"),
  removeBookmark: effect("removeBookmark", false, "viewerHasBookmarked", "bookmarks"),
};

const INVERSE = { like: "unlike", bookmark: "removeBookmark" } as const;

/**
 * Returns the number of reactions once the viewer's is added or taken back. It depends on what the count contains, so that
 * no reaction counts twice: neither when a change is repeated, nor when the post was read again meanwhile.
 *
 * @param has What `viewerHas…` of the post is, as it was read with the count; the count stays if it is not known.
 */
export const countAfter = <Count>(count: Count, has: unknown, isSet: boolean): Count =>
  typeof count === "number" && typeof has === "boolean" ? ((count + Number(isSet) - Number(has)) as Count) : count;

/** Returns the entry of a post that was just added to a list, until the list is read again. */
export const newEntry = (postId: string, { list }: ReactionEffect) => ({
  cursor: `${list}:${postId}`,
  key: postId,
  positions: [] as string[],
  listedAt: new Date().toISOString(),
});

/** Returns the name of the viewer's reaction to a post in {@link Reactions.wanted}. */
export const reactionKey = (reaction: Reaction, postId: string): string => `${reaction}:${postId}`;

/** The viewer's reactions to posts, shown before the server has confirmed them. */
export interface Reactions {
  /**
   * What the viewer wants of the reactions that the server has not confirmed, by names such as `like:` with the post's id:
   * true for those to add, and false for those to take back.
   */
  readonly wanted: Store<ReadonlyMap<string, boolean>>;
  /**
   * Adds the viewer's reaction to a post, or takes it back: at once in the cache, and rolled back if the server rejects it.
   * Calls for the same post take turns, and those that a later one reverses before their turn are not sent.
   *
   * @returns The errors to show to the user, once the server has confirmed or rejected what is wanted last. A call that
   *   joins an earlier one returns none. Fails with a `FanfoldError` if the server cannot be reached.
   */
  set(reaction: Reaction, postId: string, isSet: boolean): Promise<readonly UserError[]>;
}

/**
 * @param send Sends a mutation whose effect is shown in the cache until the server responds, and stays if it is accepted.
 *   Returns the errors of the payload.
 */
export function createReactions<Mutation>(
  mutations: ReactionDocuments<Mutation>,
  send: (mutation: Mutation, postId: string, effect: ReactionEffect) => Promise<readonly UserError[]>,
): Reactions {
  const wanted = createStore<ReadonlyMap<string, boolean>>(new Map());
  const want = (key: string, isSet?: boolean) => {
    const others = [...wanted.get()].filter(([other]) => other !== key);
    wanted.set(new Map(isSet === undefined ? others : [...others, [key, isSet]]));
  };
  const change = async (reaction: Reaction, postId: string, isSet: boolean) => {
    const change = isSet ? reaction : INVERSE[reaction];
    const mutation = mutations[change];
    if (!mutation) throw new TypeError(`The mutation \`${change}\` is missing in the documents of reactions.`);
    return send(mutation, postId, EFFECTS[change]);
  };
  return {
    wanted,
    async set(reaction, postId, isSet) {
      const key = reactionKey(reaction, postId);
      const isUnderWay = wanted.get().has(key);
      want(key, isSet);
      if (isUnderWay) return [];
      try {
        for (let sent = isSet; ; sent = wanted.get().get(key)!) {
          const changed = change(reaction, postId, sent);
          // Also after a failure: whether the server has executed the mutation is not known then.
          await changed.catch(() => {});
          if (wanted.get().get(key) === sent) return await changed;
        }
      } finally {
        want(key);
      }
    },
  };
}
