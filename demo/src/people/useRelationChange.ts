// Follows and unfollows: shown optimistically; a rejected change is rolled back and reported.

import { useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { graphql, readFragment } from "../generated";
import { useLive } from "../live/Live";
import { notices } from "../shell/notices";
import { UserErrorParts } from "../ui/userErrors";
import { RelationParts } from "./relation";

const Follow = graphql(`
  mutation Follow($input: FollowInput!) {
    change: follow(input: $input) {
      user {
        id
        followers(first: 1) {
          totalCount
        }
        ...RelationParts
      }
      viewer {
        id
        user {
          id
          ...Counts
        }
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Unfollow = graphql(`
  mutation Unfollow($input: UnfollowInput!) {
    change: unfollow(input: $input) {
      user {
        id
        followers(first: 1) {
          totalCount
        }
        ...RelationParts
      }
      viewer {
        id
        user {
          id
          ...Counts
        }
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

export function useRelationChange(user: { id: string; displayName: string }) {
  const [isUnderWay, setUnderWay] = useState(false);
  const [, follow] = useMutation(Follow);
  const [, unfollow] = useMutation(Unfollow);
  const { onChanged } = useLive();

  const change = async (isFollowing: boolean) => {
    if (isUnderWay) return;
    setUnderWay(true);
    const { data, error } = await (isFollowing ? unfollow : follow)({ input: { userId: user.id } });
    setUnderWay(false);
    const userErrors = readFragment(UserErrorParts, data?.change?.userErrors ?? []);
    const reason = error ? explain(error) : userErrors.map(({ message }) => message).join(" ");
    if (reason) {
      notices.show(`${user.displayName} could not be ${isFollowing ? "unfollowed" : "followed"}. ${reason}`);
      return;
    }
    const changed = readFragment(RelationParts, data?.change?.user);
    if (changed) onChanged(changed);
  };
  return { isUnderWay, change };
}
