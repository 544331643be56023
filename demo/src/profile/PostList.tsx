// A user's posts, loaded page by page.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Feed } from "../lists/Feed";
import { ListEnd } from "../lists/ListEnd";
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
  const { data, fetching, stale, error, refetch } = useRetryingQuery({
    query: PostsOf,
    variables: { username, after },
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const posts = data?.user?.posts;
  const next = posts?.pageInfo.hasNextPage ? posts.pageInfo.endCursor : null;
  const isFetching = fetching || stale;
  return (
    <>
      <Feed label="Posts" isBusy={isFetching}>
        {posts?.nodes.map((post, index) => (
          <PostCard key={post.id} post={post} position={index + 1} />
        ))}
      </Feed>
      <ListEnd
        what="posts"
        atEnd={posts?.nodes.length === 0 ? "No posts yet." : "End of the list."}
        isFetching={isFetching}
        error={error}
        next={next}
        onMore={setAfter}
        onRetry={refetch}
      />
    </>
  );
}
