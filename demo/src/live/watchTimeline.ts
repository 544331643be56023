// Reads the home timeline and subscribes to it. The cache applies the events; this module tracks the cursor to resume
// after. Nothing else reads the first page: a response that was on its way when an event arrived would remove the post
// from the cache again.

import type { Client } from "urql";
import { isResyncRequired, retryDelay } from "../api/failures";
import { graphql } from "../generated";
import { HomeTimeline } from "../timeline/homeTimeline";
import { refetching } from "../timeline/refetching";
import { connection } from "./connection";
import { keepWatching } from "./keepWatching";

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

const MIN_DELAY = 2_000;

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

interface TimelineWatch {
  /** Refetches the timeline because the viewer has followed a user. */
  onFollowed: (userId: string, since: string) => void;
  refetch: () => void;
  stop: () => void;
}

/** Watches the home timeline of the client's session. */
export function watchTimeline(client: Client): TimelineWatch {
  /** The handled follows, by user: each is reported twice, by the response and by an event. */
  const followedSince = new Map<string, string>();
  let stopWatching = () => {};
  let timer: ReturnType<typeof setTimeout>;
  /** The number of the latest read; results of earlier ones are discarded. */
  let turn = 0;

  const watchFrom = (start: string | null) => {
    let after = start ?? undefined;
    // An empty timeline has no cursor to resume after, so posts added between the read and the subscription would be
    // missed: read it once more after subscribing.
    const scheduleReread = () => {
      if (after !== undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => void readMissed(), MIN_DELAY);
    };
    const ownTurn = turn;
    const readMissed = async () => {
      const { data } = await client.query(HomeTimeline, {}, { requestPolicy: "network-only" });
      if (ownTurn !== turn) return;
      if (!data?.viewer?.timeline) scheduleReread();
      else if (data.viewer.timeline.edges.length > 0 || after !== undefined) void read();
    };
    const stopEvents = keepWatching({
      begin: () => {
        scheduleReread();
        return client.subscription(TimelineEvents, { after });
      },
      onData: ({ timeline }) => {
        after = timeline.cursor;
      },
      onRejected: (error) => {
        if (isResyncRequired(error)) void read();
        return !isResyncRequired(error);
      },
    });
    const stopConnection = connection.store.subscribe(() => {
      if (connection.isFound()) scheduleReread();
    });
    stopWatching = () => {
      stopEvents();
      stopConnection();
    };
  };

  const read = async () => {
    stop();
    const ownTurn = turn;
    refetching.set(true);
    const { data, error } = await readTimeline(client);
    if (ownTurn !== turn) return;
    refetching.set(false);
    if (error?.networkError) connection.lost();
    if (data?.viewer?.timeline) watchFrom(data.viewer.timeline.pageInfo.startCursor);
    else timer = setTimeout(() => void read(), retryDelay(error, MIN_DELAY));
  };

  const stop = () => {
    turn += 1;
    clearTimeout(timer);
    stopWatching();
    refetching.set(false);
  };

  const refetch = () => void read();
  const onFollowed = (userId: string, since: string) => {
    if (followedSince.get(userId) === since) return;
    followedSince.set(userId, since);
    refetch();
  };

  refetch();
  return { onFollowed, refetch, stop };
}
