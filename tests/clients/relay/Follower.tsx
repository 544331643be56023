// A row of the list: how the viewer and this user stand, and a button that says what it does before the server has.

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
          status
        }
      }
    `,
    user,
  );
  const [refusal, setRefusal] = useState("");
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
  // Relay takes the optimistic answer away when the server's is there. One that refuses has no user in it, so that what
  // was shown before comes back.
  const follow = () =>
    commit({
      variables: { input: { userId: id } },
      optimisticResponse: { follow: { user: { id, username, relation: { status: "MUTUAL" } }, userErrors: [] } },
      onCompleted: ({ follow }) => setRefusal(follow?.userErrors.map(({ code }) => code).join(" ") ?? ""),
    });
  return (
    <li>
      {username}: {relation?.status}
      {isInFlight && " (not known yet)"}
      {refusal && ` (${refusal})`}
      {relation?.status === "FOLLOWER" && <button name="follow" onClick={follow} />}
    </li>
  );
}
