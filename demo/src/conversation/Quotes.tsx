// The posts that quote a post, the newest first.

import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { graphql } from "../generated";
import { PostPages } from "../timeline/PostPages";

const QuotesOf = graphql(`
  query QuotesOf($postId: ID!, $after: String) {
    post(id: $postId) {
      id
      quotes(first: 20, after: $after) {
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

export function Quotes({ postId }: { postId: string }) {
  const { page, ...reading } = usePages(QuotesOf, { postId }, ({ post }) => post?.quotes);
  useRefreshing(reading.refresh);
  return (
    <PostPages
      label="Quotes"
      entries={page?.nodes.map((node) => ({ node }))}
      reading={reading}
      what="quotes"
      empty="No quotes yet."
    />
  );
}
