// A row of the list: the user's relation to the viewer, and a button that follows them optimistically.

import { useState } from "react";
import { graphql, useFragment, useMutation } from "react-relay";

import type { Follower_user$key } from "./generated/Follower_user.graphql";
import type { FollowerFollowMutation } from "./generated/FollowerFollowMutation.graphql";

export function Follower({ user }: { user: Follower_user$key }) {
  const { id, username, relation } = useFragment(
    graphql`
      fragment Follower_user on User {
        id
        username
        relation {
          id
          status
        }
      }
    `,
    user,
  );
  const [failure, setFailure] = useState("");
  const [commit, isInFlight] = useMutation<FollowerFollowMutation>(graphql`
    mutation FollowerFollowMutation($input: FollowInput!) @raw_response_type {
      follow(input: $input) {
        user {
          ...Follower_user
        }
        userErrors {
          code
        }
      }
    }
  `);
  // Relay drops the optimistic response when the server's arrives. A rejection has no user in it, so that the previous
  // relation is shown again.
  const follow = () =>
    commit({
      variables: { input: { userId: id } },
      optimisticResponse: {
        follow: { user: { id, username, relation: relation && { ...relation, status: "MUTUAL" } }, userErrors: [] },
      },
      onCompleted: ({ follow }) => setFailure(follow?.userErrors.map(({ code }) => code).join(" ") ?? ""),
    });
  return (
    <li>
      {username}: {relation?.status}
      {isInFlight && " (not known yet)"}
      {failure && ` (${failure})`}
      {relation?.status === "FOLLOWER" && <button name="follow" onClick={follow} />}
    </li>
  );
}
