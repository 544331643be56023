// The button that follows or unfollows a user, or withdraws a request to follow them; empty for the viewer, and for a user
// whom the viewer blocks.

import { type FragmentType, graphql, readFragment } from "../generated";
import { RelationParts, shownAs } from "./relation";
import { FOLLOWING, useRelationChange } from "./useRelationChange";

export const FollowTarget = graphql(`
  fragment FollowTarget on User {
    id
    displayName
    isPrivate
    ...RelationParts
  }
`);

export function RelationButton({ user }: { user: FragmentType<typeof FollowTarget> }) {
  const target = readFragment(FollowTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, FOLLOWING);
  if (!relation || relation.blockedSince !== null) return null;
  const isInForce = relation.followingSince !== null || relation.requestedSince !== null;
  const { action, means } = shownAs(relation);
  return (
    <button
      type="button"
      className={isInForce ? "button quiet" : "button"}
      aria-label={`${means ? `${action}: ${means}` : action} ${target.displayName}`}
      aria-disabled={isUnderWay}
      onClick={() => void change(isInForce)}
    >
      {action}
    </button>
  );
}
