// A user with their relation to the viewer.

import { graphql, useFragment } from "react-relay";

import type { Badge_user$key } from "./generated/Badge_user.graphql";

export function Badge({ user }: { user: Badge_user$key }) {
  const { username, relation } = useFragment(
    graphql`
      fragment Badge_user on User {
        username
        relation {
          status
        }
      }
    `,
    user,
  );
  return `${username} ${relation?.status ?? "(the viewer)"}`;
}
