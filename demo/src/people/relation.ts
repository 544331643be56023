// The relation between the viewer and a user: the fragment for every place that shows a user, and its labels.

import { graphql } from "../generated";
import type { RelationStatus } from "../generated/graphql";
import type { IconName } from "../ui/Icon";

export const RelationParts = graphql(`
  fragment RelationParts on User {
    id
    relation {
      id
      status
      followingSince
      followerSince
      mutedSince
      muteScope
    }
  }
`);

export const RELATION_LABELS: Record<RelationStatus, { badge: string; icon: IconName; action: string }> = {
  NONE: { badge: "Not following", icon: "none", action: "Follow" },
  FOLLOWING: { badge: "Following", icon: "following", action: "Unfollow" },
  FOLLOWER: { badge: "Follows you", icon: "follower", action: "Follow back" },
  MUTUAL: { badge: "Mutual", icon: "mutual", action: "Unfollow" },
};
