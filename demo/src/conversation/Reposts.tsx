// The users who have reposted a post, the newest repost first.

import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { graphql } from "../generated";
import { People } from "../people/People";

const RepostsOf = graphql(`
  query RepostsOf($postId: ID!, $after: String) {
    post(id: $postId) {
      id
      repostedBy(first: 20, after: $after) {
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

export function Reposts({ postId }: { postId: string }) {
  const reading = usePages(RepostsOf, { postId }, ({ post }) => post?.repostedBy);
  useRefreshing(reading.refresh);
  return <People heading="Reposts" empty="No reposts yet." reading={reading} />;
}
