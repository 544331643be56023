// A user's posts and reposts, loaded page by page.

import { usePages } from "../api/usePages";
import { graphql } from "../generated";
import { PostPages } from "../timeline/PostPages";

const PostsOf = graphql(`
  query PostsOf($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      posts(first: 20, after: $after) {
        edges {
          cursor
          node {
            id
            createdAt
            ...PostCard
          }
          repostedBy {
            id
            ...Reposter
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`);

export function PostList({ username }: { username: string }) {
  const { page, ...reading } = usePages(PostsOf, { username }, ({ user }) => user?.posts);
  return <PostPages label="Posts" entries={page?.edges} reading={reading} empty="No posts yet." />;
}
