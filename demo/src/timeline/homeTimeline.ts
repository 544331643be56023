// The query for the home timeline.

import { graphql } from "../generated";

export const HomeTimeline = graphql(`
  query HomeTimeline($after: String) {
    viewer {
      id
      timeline(first: 20, after: $after) {
        nodes {
          id
          createdAt
          author {
            id
            isViewer
          }
          ...PostCard
        }
        pageInfo {
          startCursor
          endCursor
          hasNextPage
        }
      }
    }
  }
`);
