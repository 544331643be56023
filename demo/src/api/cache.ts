// The normalised cache: every user, post and relation is stored once, so that a change shows everywhere. The package keeps
// the home timeline and endless lists, and shows follows, likes and bookmarks before the server responds. What is here
// concerns the other lists that change with posts and relations.

import { fanfoldCache } from "@fanfold/client/urql";
import { reactionCache } from "@fanfold/client/urql/reactions";
import { type Cache, cacheExchange, type Entity, type UpdateResolver } from "@urql/exchange-graphcache";
import schema from "../generated/schema.json";
import { changeLists, setListed } from "./lists";
import { addPublished, addToConversation, postResolvers, removePost, setLiked, setReposted, viewerOf } from "./posts";

/** The expected response of `repost` or `undoRepost`. */
const expectedRepost =
  (isReposted: boolean) =>
  ({ input }: PostInput, cache: Cache) => {
    const post = { __typename: "Post", id: input.postId };
    const count = cache.resolve(post, "repostCount") as number;
    const isChange = cache.resolve(post, "viewerHasReposted") !== isReposted;
    const step = isReposted ? 1 : -1;
    return {
      __typename: isReposted ? "RepostPayload" : "UndoRepostPayload",
      userErrors: [],
      post: { ...post, repostCount: isChange ? count + step : count, viewerHasReposted: isReposted },
      // The viewer's count comes with the response.
      viewer: null,
    };
  };

/** The lists of users of a profile. */
const PEOPLE = ["followers", "following", "mutuals", "knownFollowers"];

/** Returns the users or posts that the client has read. */
function shown(cache: Cache, field: "user" | "post"): Entity[] {
  const fields = cache.inspectFields("Query").filter(({ fieldName }) => fieldName === field);
  return fields.map(({ fieldKey }) => cache.resolve("Query", fieldKey) as Entity);
}

/** Removes a user whom the viewer blocks from all lists of users. Lists of posts leave out those of blocked users. */
function removeBlocked(cache: Cache, user: string): void {
  for (const profile of [...shown(cache, "user"), cache.resolve(viewerOf(cache), "user") as Entity]) {
    for (const list of PEOPLE) setListed(cache, profile, list, user, false);
  }
  for (const post of shown(cache, "post")) {
    for (const list of ["repostedBy", "likedBy"]) setListed(cache, post, list, user, false);
  }
}

/** Updates the viewer's lists of users according to the relation to a user. */
function updateViewerLists(cache: Cache, user: string): void {
  const relation = cache.resolve(user, "relation") as string | null;
  const isSet = (field: string) => (cache.resolve(relation, field) ?? null) !== null;
  const lists = {
    muted: "mutedSince",
    blocked: "blockedSince",
    followRequests: "requesterSince",
    sentFollowRequests: "requestedSince",
  };
  for (const [list, field] of Object.entries(lists)) setListed(cache, viewerOf(cache), list, user, isSet(field));
  if (isSet("blockedSince")) removeBlocked(cache, user);
}

type Input = { input: { userId: string } };
type PostInput = { input: { postId: string } };
type Payload = { post?: { id: string } | null; deletedPostId?: string | null } | null;
type Mutated = Record<string, Payload>;
type PrivacyChanged = { updateProfile: { viewer: { user: { isPrivate?: boolean } } | null } | null };
type RelationEvent = { relationChanged: { relation?: { user: { id: string } } } };
type TimelineChanged = { timeline: { edge?: { node: { id: string } }; postId?: string; userId?: string } };

const onPost =
  (update: (cache: Cache, post: string) => void): UpdateResolver<Mutated> =>
  (mutated, _input, cache, { fieldName }) => {
    const post = mutated[fieldName]?.post;
    if (post) update(cache, `Post:${post.id}`);
  };

const onDelete: UpdateResolver<Mutated> = ({ deletePost }, _input, cache) => {
  if (deletePost?.deletedPostId) removePost(cache, deletePost.deletedPostId);
};

/** The home timeline is read again: its subscription reports that it has changed. */
const onRelation: UpdateResolver<Mutated, Input> = (_mutated, { input }, cache) =>
  updateViewerLists(cache, `User:${input.userId}`);

const onRelationEvent: UpdateResolver<RelationEvent> = ({ relationChanged: { relation } }, _input, cache) => {
  if (relation) updateViewerLists(cache, `User:${relation.user.id}`);
};

/** Handles that the account has been made public, which accepts all requests. */
const onPrivacy: UpdateResolver<PrivacyChanged> = ({ updateProfile }, _input, cache) => {
  const isPublic = updateProfile?.viewer?.user.isPrivate === false;
  if (isPublic) changeLists(cache, viewerOf(cache), "followRequests", () => []);
};

export function cache() {
  const ofPackage = fanfoldCache();
  const onTimelineEvent: UpdateResolver<TimelineChanged> = (event, args, cache, info) => {
    ofPackage.updates!.Subscription!.timeline!(event, args, cache, info);
    const { edge, postId, userId } = event.timeline;
    if (edge) addToConversation(cache, `Post:${edge.node.id}`);
    else if (postId && !userId) removePost(cache, postId);
  };
  const ofReactions = reactionCache();
  /** Likes a post, or takes that back: in the viewer's likes, and among those who like the post. */
  const onLike =
    (change: "like" | "unlike"): UpdateResolver<Mutated> =>
    (mutated, input, cache, info) => {
      ofReactions.updates!.Mutation![change]!(mutated, input, cache, info);
      onPost((cache, post) => setLiked(cache, post, change === "like"))(mutated, input, cache, info);
    };
  const mutations = {
    like: onLike("like"),
    unlike: onLike("unlike"),
    publish: onPost(addPublished),
    repost: onPost((cache, post) => setReposted(cache, post, true)),
    undoRepost: onPost((cache, post) => setReposted(cache, post, false)),
    deletePost: onDelete,
    follow: onRelation,
    unfollow: onRelation,
    block: onRelation,
    unblock: onRelation,
    acceptFollowRequest: onRelation,
    rejectFollowRequest: onRelation,
    mute: onRelation,
    unmute: onRelation,
    updateProfile: onPrivacy,
  };
  return cacheExchange(
    fanfoldCache(
      reactionCache({
        schema,
        resolvers: postResolvers,
        optimistic: { repost: expectedRepost(true), undoRepost: expectedRepost(false) },
        updates: {
          Mutation: mutations,
          Subscription: { timeline: onTimelineEvent, relationChanged: onRelationEvent },
        },
      }),
    ),
  );
}
