// Following and unfollowing: shown at once, taken back and told if it was refused.

import { useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { graphql, readFragment } from "../generated";
import { useLive } from "../live/Live";
import { notices } from "../shell/notices";
import { UserErrorParts } from "../ui/userErrors";
import { Standing } from "./standing";

const Follow = graphql(`
  mutation Follow($input: FollowInput!) {
    change: follow(input: $input) {
      user {
        id
        followers(first: 1) {
          totalCount
        }
        ...Standing
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
        ...Standing
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
  const { takeUp } = useLive();

  const change = async (isFollowing: boolean) => {
    if (isUnderWay) return;
    setUnderWay(true);
    const { data, error } = await (isFollowing ? unfollow : follow)({ input: { userId: user.id } });
    setUnderWay(false);
    const refusals = readFragment(UserErrorParts, data?.change?.userErrors ?? []);
    const reason = error ? explain(error) : refusals.map(({ message }) => message).join(" ");
    if (reason) {
      notices.tell(`${user.displayName} could not be ${isFollowing ? "unfollowed" : "followed"}. ${reason}`);
      return;
    }
    const since = readFragment(Standing, data?.change?.user)?.relation?.followingSince;
    if (since) takeUp(user.id, since);
  };
  return { isUnderWay, change };
}
