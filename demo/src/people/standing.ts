// How the viewer and somebody stand: what everything that shows a user asks for, and the words for it.

import { graphql } from "../generated";
import type { RelationStatus } from "../generated/graphql";
import type { IconName } from "../ui/Icon";

export const Standing = graphql(`
  fragment Standing on User {
    id
    relation {
      status
      followingSince
      followerSince
    }
  }
`);

export const WORDS: Record<RelationStatus, { badge: string; icon: IconName; action: string }> = {
  NONE: { badge: "Not following", icon: "none", action: "Follow" },
  FOLLOWING: { badge: "Following", icon: "following", action: "Unfollow" },
  FOLLOWER: { badge: "Follows you", icon: "follower", action: "Follow back" },
  MUTUAL: { badge: "Mutual", icon: "mutual", action: "Unfollow" },
};
