// The button that follows or unfollows a user; empty for the viewer.

import { type FragmentType, graphql, readFragment } from "../generated";
import { RelationParts, RELATION_LABELS } from "./relation";
import { FOLLOWING, useRelationChange } from "./useRelationChange";

export const FollowTarget = graphql(`
  fragment FollowTarget on User {
    id
    displayName
    ...RelationParts
  }
`);

export function RelationButton({ user }: { user: FragmentType<typeof FollowTarget> }) {
  const target = readFragment(FollowTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, FOLLOWING);
  if (!relation) return null;
  const isFollowing = relation.followingSince !== null;
  const { action } = RELATION_LABELS[relation.status];
  return (
    <button
      type="button"
      className={isFollowing ? "button quiet" : "button"}
      aria-label={`${action} ${target.displayName}`}
      aria-disabled={isUnderWay}
      onClick={() => void change(isFollowing)}
    >
      {action}
    </button>
  );
}
