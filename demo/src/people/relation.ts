// The relation between the viewer and a user: the fragment for every place that shows a user, and its labels.

import { graphql } from "../generated";
import type { RelationPartsFragment, RelationStatus } from "../generated/graphql";
import type { IconName } from "../ui/Icon";

export const RelationParts = graphql(`
  fragment RelationParts on User {
    id
    relation {
      id
      status
      followingSince
      followerSince
      requestedSince
      requesterSince
      blockedSince
      mutedSince
      muteScope
    }
  }
`);

/** A user whose relation a button changes. */
export const RelationTarget = graphql(`
  fragment RelationTarget on User {
    id
    displayName
    ...RelationParts
  }
`);

type Relation = NonNullable<RelationPartsFragment["relation"]>;

/** A relation as it is shown: a block or the viewer's request instead of the follows. */
type ShownStatus = RelationStatus | "BLOCKED" | "REQUESTED";

interface Labels {
  badge: string;
  icon: IconName;
  /** The text of the button that follows the user, or reverses that. */
  action: string;
  /** What the button does, if this is not its text. */
  means?: string;
}

const LABELS: Record<ShownStatus, Labels> = {
  NONE: { badge: "Not following", icon: "none", action: "Follow" },
  FOLLOWING: { badge: "Following", icon: "following", action: "Unfollow" },
  FOLLOWER: { badge: "Follows you", icon: "follower", action: "Follow back" },
  MUTUAL: { badge: "Mutual", icon: "mutual", action: "Unfollow" },
  REQUESTED: { badge: "Requested", icon: "waiting", action: "Requested", means: "withdraw the request to follow" },
  BLOCKED: { badge: "Blocked", icon: "block", action: "Unblock" },
};

function statusOf({ status, blockedSince, requestedSince }: Relation): ShownStatus {
  if (blockedSince !== null) return "BLOCKED";
  return requestedSince === null ? status : "REQUESTED";
}

/** Returns how a relation is shown. */
export function shownAs(relation: Relation): Labels & { status: ShownStatus } {
  const status = statusOf(relation);
  return { status, ...LABELS[status] };
}
