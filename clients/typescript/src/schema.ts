// What caches must know of the schema. A test compares it with `schema.graphql`.

/** The fields that are connections, by type. */
export const CONNECTIONS = {
  Moderation: ["accounts", "invites", "log", "reports"],
  Post: ["likedBy", "quotes", "replies", "repostedBy"],
  User: ["followers", "following", "knownFollowers", "mutuals", "posts"],
  Viewer: ["blocked", "bookmarks", "followRequests", "likes", "muted", "sentFollowRequests", "timeline"],
} as const;

/** The types whose objects are identified by a field other than `id`. */
export const KEY_FIELDS = {
  Country: "code",
  DailyVisits: "day",
  Hashtag: "name",
  Subdivision: "code",
} as const;

/** The types whose objects are parts of the object that contains them. */
export const EMBEDDED_TYPES = [
  "Audience",
  "Delivery",
  "FollowersByRegion",
  "HashtagSegment",
  "LinkSegment",
  "MentionSegment",
  "Moderation",
  "PendingRecovery",
  "PostAdded",
  "PostEdit",
  "PostRemoved",
  "RateLimit",
  "Region",
  "RegionShare",
  "RelationChanged",
  "RelationsReset",
  "RepostRemoved",
  "TextSegment",
  "TimelineReset",
] as const;

/** The types of each interface and union. */
export const POSSIBLE_TYPES = {
  Node: ["Post", "User"],
  RelationEvent: ["RelationChanged", "RelationsReset"],
  Segment: ["HashtagSegment", "LinkSegment", "MentionSegment", "TextSegment"],
  TimelineEvent: ["PostAdded", "PostRemoved", "RepostRemoved", "TimelineReset"],
} as const;

/** The types of custom scalars in JavaScript. */
export const SCALARS = { Date: "string", DateTime: "string", ID: "string" } as const;

/** The arguments of a connection by which further pages are read. All others select another list. */
const PAGING = ["first", "after"];

/** Returns the arguments that select a list, without those that select a page of it. Null is as good as absent. */
export function listArguments(args: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const entries = Object.entries(args ?? {});
  return Object.fromEntries(entries.filter(([name, value]) => !PAGING.includes(name) && (value ?? null) !== null));
}
