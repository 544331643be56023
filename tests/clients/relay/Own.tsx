// The viewer's lists, with their counts.

import { graphql, useFragment, useLazyLoadQuery } from "react-relay";

import { Badge } from "./Badge";
import type { Own_counts$key } from "./generated/Own_counts.graphql";
import type { OwnQuery } from "./generated/OwnQuery.graphql";

/** The key of the list of posts, from which its id for `@prependEdge` is derived. */
export const POSTS = "Own_posts";

export function Own() {
  const { viewer } = useLazyLoadQuery<OwnQuery>(
    graphql`
      query OwnQuery {
        viewer {
          user {
            ...Own_counts
            following(first: 10) {
              edges {
                node {
                  id
                  ...Badge_user
                }
              }
            }
            posts(first: 10) @connection(key: "Own_posts") {
              edges {
                node {
                  id
                  content
                }
              }
            }
          }
        }
      }
    `,
    {},
  );
  const counts = useFragment<Own_counts$key>(
    graphql`
      fragment Own_counts on User {
        followingCount
        postCount
      }
    `,
    viewer?.user ?? null,
  );
  return (
    <section>
      <p>following: {counts?.followingCount ?? "unknown"}</p>
      <ul>
        {viewer?.user.following?.edges.map(({ node }) => (
          <li key={node.id}>
            <Badge user={node} />
          </li>
        )) ?? <li>could not be loaded</li>}
      </ul>
      <p>posts: {counts?.postCount ?? "unknown"}</p>
      <ul>
        {viewer?.user.posts?.edges.map(({ node }) => <li key={node.id}>{node.content}</li>) ?? (
          <li>could not be loaded</li>
        )}
      </ul>
    </section>
  );
}
