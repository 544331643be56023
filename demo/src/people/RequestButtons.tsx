// The buttons that accept or reject a user's request to follow the viewer; empty without a request.

import { type FragmentType, readFragment } from "../generated";
import { RelationParts, RelationTarget } from "./relation";
import { ACCEPTING, useRelationChange } from "./useRelationChange";

export function RequestButtons({ user }: { user: FragmentType<typeof RelationTarget> }) {
  const target = readFragment(RelationTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, ACCEPTING);
  if (!relation?.requesterSince) return null;
  return (
    <span className="buttons">
      <button
        type="button"
        className="button"
        aria-label={`Accept the request of ${target.displayName}`}
        aria-disabled={isUnderWay}
        onClick={() => void change(false)}
      >
        Accept
      </button>
      <button
        type="button"
        className="button quiet"
        aria-label={`Reject the request of ${target.displayName}`}
        aria-disabled={isUnderWay}
        onClick={() => void change(true)}
      >
        Reject
      </button>
    </span>
  );
}
