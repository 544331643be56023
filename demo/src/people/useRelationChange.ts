// Changes of the relation to a user: shown optimistically if the outcome is certain; a rejected change is rolled back and
// reported.

import { useState } from "react";
import { type TypedDocumentNode, useMutation } from "urql";
import { explain } from "../api/failures";
import { type FragmentType, graphql, readFragment } from "../generated";
import { notices } from "../shell/notices";
import { UserErrorParts } from "../ui/userErrors";
import { RelationParts } from "./relation";

export const Follow = graphql(`
  mutation Follow($input: FollowInput!) {
    change: follow(input: $input) {
      user {
        id
        followerCount
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

export const Unfollow = graphql(`
  mutation Unfollow($input: UnfollowInput!) {
    change: unfollow(input: $input) {
      user {
        id
        followerCount
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

const Block = graphql(`
  mutation Block($input: BlockInput!) {
    change: block(input: $input) {
      user {
        id
        ...Counts
        ...RelationParts
      }
      viewer {
        id
        ...RequestCount
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

const Unblock = graphql(`
  mutation Unblock($input: UnblockInput!) {
    change: unblock(input: $input) {
      user {
        id
        ...Counts
        ...RelationParts
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const AcceptFollowRequest = graphql(`
  mutation AcceptFollowRequest($input: AcceptFollowRequestInput!) {
    change: acceptFollowRequest(input: $input) {
      user {
        id
        ...RelationParts
      }
      viewer {
        id
        ...RequestCount
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

const RejectFollowRequest = graphql(`
  mutation RejectFollowRequest($input: RejectFollowRequestInput!) {
    change: rejectFollowRequest(input: $input) {
      user {
        id
        ...RelationParts
      }
      viewer {
        id
        ...RequestCount
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Mute = graphql(`
  mutation Mute($input: MuteInput!) {
    change: mute(input: $input) {
      user {
        id
        ...RelationParts
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Unmute = graphql(`
  mutation Unmute($input: UnmuteInput!) {
    change: unmute(input: $input) {
      user {
        id
        ...RelationParts
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

/** A mutation that changes the relation to a user. */
type Change = TypedDocumentNode<
  {
    change: {
      user: FragmentType<typeof RelationParts> | null;
      userErrors: readonly FragmentType<typeof UserErrorParts>[];
    } | null;
  },
  { input: { userId: string } }
>;

/** A change and its reversal or, for a request, its rejection; each with its participle. */
interface Reversible {
  begin: { mutation: Change; done: string };
  end: { mutation: Change; done: string };
}

export const FOLLOWING: Reversible = {
  begin: { mutation: Follow, done: "followed" },
  end: { mutation: Unfollow, done: "unfollowed" },
};

export const BLOCKING: Reversible = {
  // The block has ended the follow, so the posts do not come back.
  begin: { mutation: Block, done: "blocked" },
  end: { mutation: Unblock, done: "unblocked" },
};

export const ACCEPTING: Reversible = {
  begin: { mutation: AcceptFollowRequest, done: "accepted" },
  end: { mutation: RejectFollowRequest, done: "rejected" },
};

export const MUTING: Reversible = {
  begin: { mutation: Mute, done: "muted" },
  end: { mutation: Unmute, done: "unmuted" },
};

export function useRelationChange(user: { id: string; displayName: string }, reversible: Reversible) {
  const { begin, end } = reversible;
  const [isUnderWay, setUnderWay] = useState(false);
  const [, runBegin] = useMutation(begin.mutation);
  const [, runEnd] = useMutation(end.mutation);

  /** Ends the relation if it is in force; otherwise, begins it. Returns true if this has succeeded. */
  const change = async (isInForce: boolean): Promise<boolean> => {
    if (isUnderWay) return false;
    setUnderWay(true);
    const { data, error } = await (isInForce ? runEnd : runBegin)({ input: { userId: user.id } });
    setUnderWay(false);
    const userErrors = readFragment(UserErrorParts, data?.change?.userErrors ?? []);
    const reason = error ? explain(error) : userErrors.map(({ message }) => message).join(" ");
    if (reason) {
      notices.show(`${user.displayName} could not be ${(isInForce ? end : begin).done}. ${reason}`);
      return false;
    }
    return true;
  };
  return { isUnderWay, change };
}
