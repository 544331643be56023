/** What a follow or an unfollow changes of a relation. The times are of the format of the API. */
export interface RelationState {
  readonly status: string;
  readonly followingSince?: string | null | undefined;
  readonly requestedSince?: string | null | undefined;
}

/** A change of a relation by the viewer. */
export type RelationChange = "follow" | "unfollow";

/** The status of a relation after each change; others, which a later server may have, stay. */
const AFTER: Record<RelationChange, Record<string, string>> = {
  follow: { NONE: "FOLLOWING", FOLLOWER: "MUTUAL" },
  unfollow: { FOLLOWING: "NONE", MUTUAL: "FOLLOWER" },
};

/** Returns true if the viewer follows the user. */
export const isFollowing = ({ status }: RelationState): boolean => status === "FOLLOWING" || status === "MUTUAL";

/** Returns true if the viewer follows the user, or waits for them to accept that: then `unfollow` reverses it. */
export const isReversible = (relation: RelationState): boolean =>
  isFollowing(relation) || (relation.requestedSince ?? null) !== null;

/**
 * Returns the relation that a change leads to unless the server rejects it, to be shown meanwhile. Following a private
 * account requests it, and unfollowing withdraws the request.
 *
 * @param isPrivate `User.isPrivate` of the other user.
 * @param at The time of the change.
 */
export function expectRelation<R extends RelationState>(
  change: RelationChange,
  now: R,
  isPrivate: boolean,
  at: string = new Date().toISOString(),
): R {
  if (change === "unfollow") {
    return { ...now, status: AFTER.unfollow[now.status] ?? now.status, followingSince: null, requestedSince: null };
  }
  if (isFollowing(now)) return now;
  if (isPrivate) return { ...now, requestedSince: now.requestedSince ?? at };
  return { ...now, status: AFTER.follow[now.status] ?? now.status, followingSince: at, requestedSince: null };
}
