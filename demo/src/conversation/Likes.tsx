// The users who like a post, the newest likes first.

import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { graphql } from "../generated";
import { People } from "../people/People";

const LikesOf = graphql(`
  query LikesOf($postId: ID!, $after: String) {
    post(id: $postId) {
      id
      likedBy(first: 20, after: $after) {
        nodes {
          id
          ...PersonRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`);

export function Likes({ postId }: { postId: string }) {
  const reading = usePages(LikesOf, { postId }, ({ post }) => post?.likedBy);
  useRefreshing(reading.refresh);
  return <People heading="Likes" empty="No likes that you can see." reading={reading} />;
}
