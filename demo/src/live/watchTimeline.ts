// Reads the home timeline and subscribes to it. The cache applies the events. Nothing else reads the first page: a response
// that was on its way when an event arrived would remove the post from the cache again.

import type { Fanfold, Watch } from "@fanfold/client";
import { errorOf } from "@fanfold/client/urql";
import type { Client } from "urql";
import { graphql } from "../generated";
import { HomeTimeline } from "../timeline/homeTimeline";
import { refetching } from "../timeline/refetching";

const TimelineEvents = graphql(`
  subscription TimelineEvents($after: String) {
    timeline(after: $after) {
      __typename
      cursor
      ... on PostAdded {
        edge {
          cursor
          node {
            id
            createdAt
            author {
              id
              isViewer
            }
            ...PostCard
            ...ReferredCounts
          }
          repostedBy {
            id
            ...Reposter
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

/** Reads the timeline again, as many pages as are cached. */
async function readTimeline(client: Client) {
  const requestPolicy = "network-only";
  const lengthOf = (result: { data?: { viewer: { timeline: { edges: unknown[] } | null } | null } }) =>
    result.data?.viewer?.timeline?.edges.length ?? 0;
  const cached = lengthOf(await client.query(HomeTimeline, {}, { requestPolicy: "cache-only" }));
  let result = await client.query(HomeTimeline, {}, { requestPolicy });
  const first = result;
  while (lengthOf(result) < cached) {
    const pageInfo = result.data?.viewer?.timeline?.pageInfo;
    if (!pageInfo?.hasNextPage) break;
    result = await client.query(HomeTimeline, { after: pageInfo.endCursor }, { requestPolicy });
  }
  return first;
}

/** The number of reads in progress. */
let reads = 0;

/** Watches the home timeline of the client's session. */
export const watchTimeline = (client: Client, fanfold: Fanfold): Watch =>
  fanfold.watchTimeline({
    read: async () => {
      reads += 1;
      refetching.set(true);
      const { data, error } = await readTimeline(client);
      reads -= 1;
      refetching.set(reads > 0);
      if (!data?.viewer?.timeline) throw errorOf(error);
      return data.viewer.timeline.liveCursor;
    },
    subscribe: (after, sink) =>
      client.subscription(TimelineEvents, { after }).subscribe(({ data, error }) => {
        if (data) sink.next(data.timeline);
        else if (error) sink.error(errorOf(error));
      }).unsubscribe,
    // The cache does it.
    apply: () => {},
  });
