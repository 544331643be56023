// A user's posts, loaded page by page.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Feed } from "../lists/Feed";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import { PostCard } from "../timeline/PostCard";

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
  const [after, setAfter] = useState<string>();
  const { data, isLoading, error, refetch } = useRetryingQuery({
    query: PostsOf,
    variables: { username, after },
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const posts = data?.user?.posts;
  return (
    <>
      <Feed label="Posts" isBusy={isLoading}>
        {posts?.nodes.map((post, index) => (
          <PostCard key={post.id} post={post} position={index + 1} />
        ))}
      </Feed>
      <ListEnd
        what="posts"
        atEnd={posts?.nodes.length === 0 ? "No posts yet." : "End of the list."}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(posts)}
        onMore={setAfter}
        onRetry={refetch}
      />
    </>
  );
}
