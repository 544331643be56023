// Follows somebody, or unfollows; nothing for the viewer itself.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Standing, WORDS } from "./standing";
import { useRelationChange } from "./useRelationChange";

export const FollowTarget = graphql(`
  fragment FollowTarget on User {
    id
    displayName
    ...Standing
  }
`);

export function RelationButton({ user }: { user: FragmentType<typeof FollowTarget> }) {
  const target = readFragment(FollowTarget, user);
  const { relation } = readFragment(Standing, target);
  const { isUnderWay, change } = useRelationChange(target);
  if (!relation) return null;
  const isFollowing = relation.followingSince !== null;
  const { action } = WORDS[relation.status];
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
