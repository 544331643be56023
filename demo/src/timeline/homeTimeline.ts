// The query for the home timeline.

import { graphql } from "../generated";

export const HomeTimeline = graphql(`
  query HomeTimeline($after: String) {
    viewer {
      id
      timeline(first: 20, after: $after) {
        edges {
          cursor
          node {
            id
            createdAt
            author {
              id
              isViewer
            }
            ...PostCard
          }
          repostedBy {
            id
            ...Reposter
          }
        }
        pageInfo {
          startCursor
          endCursor
          hasNextPage
        }
        liveCursor
      }
    }
  }
`);
