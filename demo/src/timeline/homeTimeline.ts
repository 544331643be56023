// The documents of the home timeline. Nothing else reads it: a response that was on its way when an event arrived would
// remove the post from the cache again.

import type { TimelineOptions } from "@fanfold/client/react";
import { graphql } from "../generated";
import type { HomeEntryFragment } from "../generated/graphql";

export const HomeEntry = graphql(`
  fragment HomeEntry on PostEdge {
    cursor
    key
    positions
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
`);

const HomeTimeline = graphql(`
  query HomeTimeline($after: String) {
    viewer {
      id
      timeline(first: 20, after: $after) {
        edges {
          ...HomeEntry
        }
        pageInfo {
          endCursor
          hasNextPage
        }
        liveCursor
      }
    }
  }
`);

const TimelineEvents = graphql(`
  subscription TimelineEvents($after: String) {
    timeline(after: $after) {
      __typename
      cursor
      ... on PostAdded {
        edge {
          ...HomeEntry
          node {
            id
            ...ReferredCounts
          }
        }
      }
      ... on PostRemoved {
        postId
      }
      ... on RepostRemoved {
        postId
        userId
      }
    }
  }
`);

export const homeTimeline: TimelineOptions<HomeEntryFragment> = {
  query: HomeTimeline,
  events: TimelineEvents,
  isOwn: ({ node }) => node.author.isViewer,
};
