// Another user, with buttons that follow and unfollow them. The payloads spread the fragments of all components that
// show what the mutations change.

import { graphql, useFragment, useLazyLoadQuery, useMutation } from "react-relay";

import { Badge } from "./Badge";
import type { Person_user$key } from "./generated/Person_user.graphql";
import type { PersonFollowMutation } from "./generated/PersonFollowMutation.graphql";
import type { PersonQuery } from "./generated/PersonQuery.graphql";
import type { PersonUnfollowMutation } from "./generated/PersonUnfollowMutation.graphql";

function Details({ user }: { user: Person_user$key }) {
  const person = useFragment(
    graphql`
      fragment Person_user on User {
        id
        followerCount
        ...Badge_user
      }
    `,
    user,
  );
  const [follow] = useMutation<PersonFollowMutation>(graphql`
    mutation PersonFollowMutation($input: FollowInput!) {
      follow(input: $input) {
        user {
          ...Person_user
        }
        viewer {
          user {
            ...Own_counts
          }
        }
        userErrors {
          message
        }
      }
    }
  `);
  const [unfollow] = useMutation<PersonUnfollowMutation>(graphql`
    mutation PersonUnfollowMutation($input: UnfollowInput!) {
      unfollow(input: $input) {
        user {
          ...Person_user
        }
        viewer {
          user {
            ...Own_counts
          }
        }
        userErrors {
          message
        }
      }
    }
  `);
  const variables = { input: { userId: person.id } };
  return (
    <header>
      <p>
        <Badge user={person} />, followers: {person.followerCount ?? "unknown"}
      </p>
      <button name="follow" onClick={() => follow({ variables })} />
      <button name="unfollow" onClick={() => unfollow({ variables })} />
    </header>
  );
}

export function Person({ username }: { username: string }) {
  const { user } = useLazyLoadQuery<PersonQuery>(
    graphql`
      query PersonQuery($username: String!) {
        user(by: { username: $username }) {
          ...Person_user
        }
      }
    `,
    { username },
  );
  return user ? <Details user={user} /> : <p>There is no user of this name.</p>;
}
