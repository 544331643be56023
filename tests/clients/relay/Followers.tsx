// A list of followers: a connection, loaded page by page.

import { graphql, usePaginationFragment } from "react-relay";

import { Follower } from "./Follower";
import type { Followers_user$key } from "./generated/Followers_user.graphql";
import type { FollowersPageQuery } from "./generated/FollowersPageQuery.graphql";

const PAGE = 2;

export function Followers({ user }: { user: Followers_user$key }) {
  const { data, hasNext, loadNext } = usePaginationFragment<FollowersPageQuery, Followers_user$key>(
    graphql`
      fragment Followers_user on User
      @refetchable(queryName: "FollowersPageQuery")
      @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" }) {
        followers(first: $first, after: $after) @connection(key: "Followers_followers") {
          totalCount
          edges {
            node {
              id
              ...Follower_user
            }
          }
        }
      }
    `,
    user,
  );
  if (!data.followers) return <p>followers: could not be loaded</p>;
  const { edges, totalCount } = data.followers;
  return (
    <section>
      <p>
        followers: {edges.length} of {totalCount ?? "an unknown number"}
      </p>
      <ul>
        {edges.map(({ node }) => (
          <Follower key={node.id} user={node} />
        ))}
      </ul>
      {hasNext && <button name="more" onClick={() => loadNext(PAGE)} />}
    </section>
  );
}
