// The page of a user.

import { graphql, useLazyLoadQuery } from "react-relay";

import { Followers } from "./Followers";
import type { AppQuery } from "./generated/AppQuery.graphql";
import { Profile } from "./Profile";

export function App({ username }: { username: string }) {
  const { user } = useLazyLoadQuery<AppQuery>(
    graphql`
      query AppQuery($username: String!) {
        user(by: { username: $username }) {
          ...Profile_user
          ...Followers_user
        }
      }
    `,
    { username },
  );
  if (!user) return <p>There is no user of this name.</p>;
  return (
    <main>
      <Profile user={user} />
      <Followers user={user} />
    </main>
  );
}
