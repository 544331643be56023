// Changes of the relation to a user: shown optimistically if the outcome is certain; a rejected change is rolled back and
// reported.

import { useState } from "react";
import { type TypedDocumentNode, useMutation } from "urql";
import { type FragmentType, graphql } from "../generated";
import { noticeFailure } from "../shell/notices";
import type { UserErrorParts } from "../ui/userErrors";

export const ChangedUserParts = graphql(`
  fragment ChangedUser on User {
    id
    followerCount
    ...RelationParts
  }
`);

export const ChangedViewerParts = graphql(`
  fragment ChangedViewer on Viewer {
    id
    ...RequestCount
    user {
      id
      ...Counts
    }
  }
`);

export const Follow = graphql(`
  mutation Follow($input: FollowInput!) {
    change: follow(input: $input) {
      user {
        ...ChangedUser
      }
      viewer {
        ...ChangedViewer
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
        ...ChangedUser
      }
      viewer {
        ...ChangedViewer
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
        ...ChangedUser
        ...Counts
      }
      viewer {
        ...ChangedViewer
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
        ...ChangedUser
        ...Counts
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
        ...ChangedUser
      }
      viewer {
        ...ChangedViewer
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
        ...ChangedUser
      }
      viewer {
        ...ChangedViewer
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
        ...ChangedUser
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
        ...ChangedUser
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
    const what = `${user.displayName} could not be ${(isInForce ? end : begin).done}.`;
    return !noticeFailure(what, error, data?.change?.userErrors);
  };
  return { isUnderWay, change };
}
