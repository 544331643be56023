// A user, refetchable by id.

import { graphql, useRefetchableFragment } from "react-relay";

import type { Profile_user$key } from "./generated/Profile_user.graphql";
import type { ProfileRefetchQuery } from "./generated/ProfileRefetchQuery.graphql";

export function Profile({ user }: { user: Profile_user$key }) {
  const [{ displayName, postCount }, refetch] = useRefetchableFragment<ProfileRefetchQuery, Profile_user$key>(
    graphql`
      fragment Profile_user on User @refetchable(queryName: "ProfileRefetchQuery") {
        displayName
        postCount
      }
    `,
    user,
  );
  return (
    <header>
      <p>
        {displayName}, posts: {postCount ?? "unknown"}
      </p>
      <button name="refresh" onClick={() => refetch({}, { fetchPolicy: "store-and-network" })} />
    </header>
  );
}
