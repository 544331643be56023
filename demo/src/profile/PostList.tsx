// A user's posts, loaded page by page.

import { usePages } from "../api/usePages";
import { graphql } from "../generated";
import { PostPages } from "../timeline/PostPages";

const PostsOf = graphql(`
  query PostsOf($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      posts(first: 20, after: $after) {
        nodes {
          id
          ...PostCard
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
  const { data, ...reading } = usePages(PostsOf, { username });
  return <PostPages label="Posts" pages={data?.user?.posts} reading={reading} empty="No posts yet." />;
}
