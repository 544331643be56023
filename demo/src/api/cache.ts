// The normalised cache: every user, post and relation is stored once, so that a change shows everywhere. Changes of
// relations are optimistic: shown before the server responds, and rolled back if it rejects them.

import { cacheExchange, type Cache, type Entity, type UpdateResolver } from "@urql/exchange-graphcache";
import schema from "../generated/schema.json";
import type { MuteScope, RelationStatus } from "../generated/graphql";
import { endlessList, insertIntoList, pagesOf, removeFromList } from "./pages";
import { addPublished, addReceived, endlessPosts, postResolvers, removePost } from "./posts";

const embedded = () => null;

/** The relation to a user after following or unfollowing them. */
const AFTER: Record<"follow" | "unfollow", Record<RelationStatus, RelationStatus>> = {
  follow: { NONE: "FOLLOWING", FOLLOWING: "FOLLOWING", FOLLOWER: "MUTUAL", MUTUAL: "MUTUAL" },
  unfollow: { NONE: "NONE", FOLLOWING: "NONE", FOLLOWER: "FOLLOWER", MUTUAL: "FOLLOWER" },
};

/** The expected response of `follow` or `unfollow`. Following a private account is expected to request it. */
function expectedChange(change: "follow" | "unfollow", userId: string, cache: Cache) {
  const user = { __typename: "User", id: userId };
  const relation = cache.resolve(user, "relation") as string;
  const status = cache.resolve(relation, "status") as RelationStatus;
  const followers = cache.resolve(user, "followers", { first: 1 }) as Entity;
  const followerCount = (cache.resolve(followers, "totalCount") ?? null) as number | null;
  const known = <Value>(field: string) => (cache.resolve(relation, field) ?? null) as Value | null;
  const isPrivate = cache.resolve(user, "isPrivate") === true;
  const isRequest = change === "follow" && isPrivate && known("followingSince") === null;
  const expected = isRequest ? status : AFTER[change][status];
  const now = new Date().toISOString();
  const step = expected === status ? 0 : change === "follow" ? 1 : -1;
  return {
    __typename: change === "follow" ? "FollowPayload" : "UnfollowPayload",
    userErrors: [],
    user: {
      ...user,
      relation: {
        __typename: "Relation",
        id: cache.resolve(relation, "id") as string,
        user,
        status: expected,
        followingSince: change === "follow" && !isRequest ? now : null,
        followerSince: known<string>("followerSince"),
        requestedSince: isRequest ? now : null,
        requesterSince: known<string>("requesterSince"),
        blockedSince: known<string>("blockedSince"),
        mutedSince: known<string>("mutedSince"),
        muteScope: known<MuteScope>("muteScope"),
      },
      followers: {
        __typename: "FollowConnection",
        totalCount: followerCount === null ? null : followerCount + step,
      },
    },
    // The viewer's counts come with the response.
    viewer: null,
  };
}

const viewerOf = (cache: Cache) => cache.resolve("Query", "viewer") as Entity;

/** Removes all posts of an author from the home timeline. */
function removeAuthor(cache: Cache, author: string): void {
  removeFromList(cache, viewerOf(cache), "timeline", (post) => cache.resolve(post, "author") === author);
}

/** The lists of users of a profile. */
const PEOPLE = ["followers", "following", "mutuals", "knownFollowers"];

/** Removes a user whom the viewer blocks from the lists of all profiles, and their posts from all lists. */
function removeBlocked(cache: Cache, user: string): void {
  const isBlocked = (other: string) => other === user;
  removeAuthor(cache, user);
  removeFromList(cache, user, "posts", () => true);
  const profiles = cache.inspectFields("Query").filter(({ fieldName }) => fieldName === "user");
  const shown = profiles.map(({ fieldKey }) => cache.resolve("Query", fieldKey) as Entity);
  for (const profile of [...shown, cache.resolve(viewerOf(cache), "user") as Entity]) {
    for (const list of PEOPLE) removeFromList(cache, profile, list, isBlocked);
  }
  for (const list of ["followRequests", "sentFollowRequests"]) {
    removeFromList(cache, viewerOf(cache), list, isBlocked);
  }
}

/** Makes one of the viewer's lists of users contain a user or not. A new user is the first. */
function setListed(cache: Cache, list: string, user: string, isListed: boolean): void {
  const viewer = viewerOf(cache);
  if (!isListed) removeFromList(cache, viewer, list, (other) => other === user);
  else if (pagesOf(cache, viewer, list).length > 0) insertIntoList(cache, viewer, list, user, () => true);
}

type Input = { input: { userId: string } };
type Published = { publish: { post: { id: string } | null } | null };
type Deleted = { deletePost: { deletedPostId: string | null } | null };
type Blocked = { block?: { user: object | null } | null; unblock?: { user: object | null } | null };
type PrivacyChanged = { updateProfile: { viewer: { user: { isPrivate?: boolean } } | null } | null };
type Muted = { mute?: { user: object | null } | null; unmute?: { user: object | null } | null };
type RelationChanged = {
  relationChanged: {
    user: {
      id: string;
      relation: {
        followingSince: string | null;
        requestedSince: string | null;
        requesterSince: string | null;
        blockedSince: string | null;
        muteScope: MuteScope | null;
      } | null;
    };
  };
};
type TimelineChanged = {
  timeline: { __typename: "PostAdded"; post: { id: string } } | { __typename: "PostRemoved"; postId: string };
};

const onPublish: UpdateResolver<Published> = ({ publish }, _input, cache) => {
  if (publish?.post) addPublished(cache, `Post:${publish.post.id}`);
};

const onDelete: UpdateResolver<Deleted> = ({ deletePost }, _input, cache) => {
  if (deletePost?.deletedPostId) removePost(cache, deletePost.deletedPostId);
};

const onEvent: UpdateResolver<TimelineChanged> = ({ timeline: event }, _input, cache) => {
  if (event.__typename === "PostAdded") addReceived(cache, `Post:${event.post.id}`);
  else removePost(cache, event.postId);
};

const onUnfollow: UpdateResolver<object, Input> = (_response, { input }, cache) => {
  const author = `User:${input.userId}`;
  const relation = cache.resolve(author, "relation") as string;
  // If the server rejected it, the viewer still follows the author.
  if (cache.resolve(relation, "followingSince") === null) removeAuthor(cache, author);
  if (cache.resolve(relation, "requestedSince") === null) setListed(cache, "sentFollowRequests", author, false);
};

const onBlock: UpdateResolver<Blocked, Input> = ({ block }, { input }, cache) => {
  if (block?.user) removeBlocked(cache, `User:${input.userId}`);
};

const onUnblock: UpdateResolver<Blocked, Input> = ({ unblock }, { input }, cache) => {
  if (unblock?.user) setListed(cache, "blocked", `User:${input.userId}`, false);
};

/** Handles that a request has been accepted or rejected. */
const onDecision: UpdateResolver<object, Input> = (_response, { input }, cache) => {
  const user = `User:${input.userId}`;
  const relation = cache.resolve(user, "relation") as string;
  if (cache.resolve(relation, "requesterSince") === null) setListed(cache, "followRequests", user, false);
};

/** Handles that the account has been made public, which accepts all requests. */
const onPrivacy: UpdateResolver<PrivacyChanged> = ({ updateProfile }, _input, cache) => {
  const isPublic = updateProfile?.viewer?.user.isPrivate === false;
  if (isPublic) removeFromList(cache, viewerOf(cache), "followRequests", () => true);
};

const onMute: UpdateResolver<Muted, Input> = ({ mute }, { input }, cache) => {
  // If the server rejected it, there is no user in the response.
  if (mute?.user) removeAuthor(cache, `User:${input.userId}`);
};

const onUnmute: UpdateResolver<Muted, Input> = ({ unmute }, { input }, cache) => {
  const user = `User:${input.userId}`;
  if (unmute?.user) removeFromList(cache, viewerOf(cache), "muted", (other) => other === user);
};

/**
 * Handles changes made by other clients too: removes the posts of an unfollowed or muted author, and a blocked user, and
 * updates the lists of requests and of blocked users.
 */
const onRelationChange: UpdateResolver<RelationChanged> = ({ relationChanged }, _input, cache) => {
  const { id, relation } = relationChanged.user;
  const user = `User:${id}`;
  if (!relation) return;
  if (relation.followingSince === null || relation.muteScope === "ALL") removeAuthor(cache, user);
  if (relation.blockedSince !== null) removeBlocked(cache, user);
  setListed(cache, "blocked", user, relation.blockedSince !== null);
  setListed(cache, "followRequests", user, relation.requesterSince !== null);
  setListed(cache, "sentFollowRequests", user, relation.requestedSince !== null);
};

export const cache = () =>
  cacheExchange({
    schema,
    keys: {
      Region: embedded,
      Audience: embedded,
      RegionShare: embedded,
      FollowersByRegion: embedded,
      FollowConnection: embedded,
      UserConnection: embedded,
      PostConnection: embedded,
      ReplyConnection: embedded,
      TimelineConnection: embedded,
      PageInfo: embedded,
      TextSegment: embedded,
      MentionSegment: embedded,
      HashtagSegment: embedded,
      LinkSegment: embedded,
      PostAdded: embedded,
      PostRemoved: embedded,
      Country: ({ code }) => code as string,
      Subdivision: ({ code }) => code as string,
      Hashtag: ({ name }) => name as string,
      DailyVisits: ({ day }) => day as string,
    },
    resolvers: {
      ...postResolvers,
      Viewer: {
        timeline: endlessPosts,
        muted: endlessList,
        blocked: endlessList,
        followRequests: endlessList,
        sentFollowRequests: endlessList,
      },
      User: {
        posts: endlessPosts,
        followers: endlessList,
        following: endlessList,
        mutuals: endlessList,
        knownFollowers: endlessList,
      },
    },
    optimistic: {
      follow: ({ input }: Input, cache: Cache) => expectedChange("follow", input.userId, cache),
      unfollow: ({ input }: Input, cache: Cache) => expectedChange("unfollow", input.userId, cache),
    },
    updates: {
      Mutation: {
        publish: onPublish,
        deletePost: onDelete,
        unfollow: onUnfollow,
        block: onBlock,
        unblock: onUnblock,
        acceptFollowRequest: onDecision,
        rejectFollowRequest: onDecision,
        updateProfile: onPrivacy,
        mute: onMute,
        unmute: onUnmute,
      },
      Subscription: { timeline: onEvent, relationChanged: onRelationChange },
    },
  });
