// The normalised cache: every user, post and relation is stored once, so that a change shows everywhere. Changes of
// relations are optimistic: shown before the server responds, and rolled back if it rejects them.

import { cacheExchange, type Cache, type Entity, type UpdateResolver } from "@urql/exchange-graphcache";
import schema from "../generated/schema.json";
import type { MuteScope, RelationStatus } from "../generated/graphql";
import { endlessList, insertIntoList, removeFromList } from "./pages";
import {
  addPublished,
  addReceived,
  endlessEntries,
  postResolvers,
  removeAuthor,
  removePost,
  removeReposts,
  setReposted,
  viewerOf,
} from "./posts";

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
  const followerCount = (cache.resolve(user, "followerCount") ?? null) as number | null;
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
      followerCount: followerCount === null ? null : followerCount + step,
    },
    // The viewer's counts come with the response.
    viewer: null,
  };
}

/** The expected response of `repost` or `undoRepost`. */
function expectedRepost(isReposted: boolean, postId: string, cache: Cache) {
  const post = { __typename: "Post", id: postId };
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
}

/** Removes a user whom the viewer does not follow any more from the home timeline. Others may repost the user's posts. */
function removeUnfollowed(cache: Cache, user: string): void {
  removeAuthor(cache, user, false);
  removeReposts(cache, user);
}

/** Removes a user whose posts and reposts are hidden from the home timeline. */
function removeHidden(cache: Cache, user: string): void {
  removeAuthor(cache, user, true);
  removeReposts(cache, user);
}

/** The lists of users of a profile. */
const PEOPLE = ["followers", "following", "mutuals", "knownFollowers"];

/** Returns the users or posts that the client has read. */
function shown(cache: Cache, field: "user" | "post"): Entity[] {
  const fields = cache.inspectFields("Query").filter(({ fieldName }) => fieldName === field);
  return fields.map(({ fieldKey }) => cache.resolve("Query", fieldKey) as Entity);
}

/** Removes a user whom the viewer blocks from the lists of all profiles and posts, and their posts from all lists. */
function removeBlocked(cache: Cache, user: string): void {
  const isBlocked = (other: string) => other === user;
  removeHidden(cache, user);
  removeFromList(cache, user, "posts", () => true);
  for (const profile of [...shown(cache, "user"), cache.resolve(viewerOf(cache), "user") as Entity]) {
    for (const list of PEOPLE) removeFromList(cache, profile, list, isBlocked);
  }
  for (const post of shown(cache, "post")) removeFromList(cache, post, "repostedBy", isBlocked);
  for (const list of ["followRequests", "sentFollowRequests"]) {
    removeFromList(cache, viewerOf(cache), list, isBlocked);
  }
}

/** Makes one of the viewer's lists of users contain a user or not. A new user is the first. */
function setListed(cache: Cache, list: string, user: string, isListed: boolean): void {
  const viewer = viewerOf(cache);
  if (!isListed) removeFromList(cache, viewer, list, (other) => other === user);
  else insertIntoList(cache, viewer, list, user, () => false);
}

type Input = { input: { userId: string } };
type PostInput = { input: { postId: string } };
type Published = { publish: { post: { id: string } | null } | null };
type Reposted = {
  repost?: { post: { id: string } | null } | null;
  undoRepost?: { post: { id: string } | null } | null;
};
type Deleted = { deletePost: { deletedPostId: string | null } | null };
type Blocked = { block?: { user: object | null } | null; unblock?: { user: object | null } | null };
type PrivacyChanged = { updateProfile: { viewer: { user: { isPrivate?: boolean } } | null } | null };
type Muted = { mute?: { user: object | null } | null; unmute?: { user: object | null } | null };
type RelationEvent = {
  relationChanged:
    | {
        __typename: "RelationChanged";
        relation: {
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
      }
    | { __typename: "RelationsReset" };
};
type TimelineChanged = {
  timeline:
    | { __typename: "PostAdded"; edge: { node: { id: string }; repostedBy: { id: string }[] } }
    | { __typename: "PostRemoved"; postId: string }
    | { __typename: "RepostRemoved"; postId: string; userId: string };
};

const onPublish: UpdateResolver<Published> = ({ publish }, _input, cache) => {
  if (publish?.post) addPublished(cache, `Post:${publish.post.id}`);
};

const onRepost: UpdateResolver<Reposted> = ({ repost }, _input, cache) => {
  if (repost?.post) setReposted(cache, `Post:${repost.post.id}`, true);
};

const onUndoRepost: UpdateResolver<Reposted> = ({ undoRepost }, _input, cache) => {
  if (undoRepost?.post) setReposted(cache, `Post:${undoRepost.post.id}`, false);
};

const onDelete: UpdateResolver<Deleted> = ({ deletePost }, _input, cache) => {
  if (deletePost?.deletedPostId) removePost(cache, deletePost.deletedPostId);
};

const onEvent: UpdateResolver<TimelineChanged> = ({ timeline: event }, _input, cache) => {
  if (event.__typename === "PostRemoved") return removePost(cache, event.postId);
  if (event.__typename === "RepostRemoved") {
    return removeReposts(cache, `User:${event.userId}`, `Post:${event.postId}`);
  }
  // After a reset, the timeline is read again.
  if (event.__typename !== "PostAdded") return;
  const { node, repostedBy } = event.edge;
  const [reposter] = repostedBy;
  addReceived(cache, `Post:${node.id}`, reposter && `User:${reposter.id}`);
};

const onUnfollow: UpdateResolver<object, Input> = (_response, { input }, cache) => {
  const author = `User:${input.userId}`;
  const relation = cache.resolve(author, "relation") as string;
  // If the server rejected it, the viewer still follows the author.
  if (cache.resolve(relation, "followingSince") === null) removeUnfollowed(cache, author);
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
  if (mute?.user) removeHidden(cache, `User:${input.userId}`);
};

const onUnmute: UpdateResolver<Muted, Input> = ({ unmute }, { input }, cache) => {
  const user = `User:${input.userId}`;
  if (unmute?.user) removeFromList(cache, viewerOf(cache), "muted", (other) => other === user);
};

/**
 * Handles changes made by other clients too: removes the posts and reposts of an unfollowed or muted user, and a blocked
 * user, and updates the lists of requests and of blocked users.
 */
const onRelationEvent: UpdateResolver<RelationEvent> = ({ relationChanged: event }, _input, cache) => {
  // After a reset, the relations are read again.
  if (event.__typename !== "RelationChanged") return;
  const { id, relation } = event.relation.user;
  const user = `User:${id}`;
  if (!relation) return;
  if (relation.followingSince === null) removeUnfollowed(cache, user);
  if (relation.muteScope === "ALL") removeHidden(cache, user);
  if (relation.muteScope === "REPOSTS") removeReposts(cache, user);
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
      RepostConnection: embedded,
      PostConnection: embedded,
      PostListConnection: embedded,
      TimelineConnection: embedded,
      PageInfo: embedded,
      TextSegment: embedded,
      MentionSegment: embedded,
      HashtagSegment: embedded,
      LinkSegment: embedded,
      PostEdit: embedded,
      PostAdded: embedded,
      PostRemoved: embedded,
      RepostRemoved: embedded,
      TimelineReset: embedded,
      RelationChanged: embedded,
      RelationsReset: embedded,
      PostEdge: ({ cursor }) => cursor as string,
      Country: ({ code }) => code as string,
      Subdivision: ({ code }) => code as string,
      Hashtag: ({ name }) => name as string,
      DailyVisits: ({ day }) => day as string,
    },
    resolvers: {
      ...postResolvers,
      Viewer: {
        timeline: endlessEntries,
        muted: endlessList,
        blocked: endlessList,
        followRequests: endlessList,
        sentFollowRequests: endlessList,
      },
      User: {
        posts: endlessEntries,
        followers: endlessList,
        following: endlessList,
        mutuals: endlessList,
        knownFollowers: endlessList,
      },
    },
    optimistic: {
      follow: ({ input }: Input, cache: Cache) => expectedChange("follow", input.userId, cache),
      unfollow: ({ input }: Input, cache: Cache) => expectedChange("unfollow", input.userId, cache),
      repost: ({ input }: PostInput, cache: Cache) => expectedRepost(true, input.postId, cache),
      undoRepost: ({ input }: PostInput, cache: Cache) => expectedRepost(false, input.postId, cache),
    },
    updates: {
      Mutation: {
        publish: onPublish,
        repost: onRepost,
        undoRepost: onUndoRepost,
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
      Subscription: { timeline: onEvent, relationChanged: onRelationEvent },
    },
  });
