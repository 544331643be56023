// Watches the home timeline. The cache puts what happens where it belongs; here is only kept from where to go on.

import type { Client } from "urql";
import { mustReadAnew } from "../api/failures";
import { graphql } from "../generated";
import { HomeTimeline } from "../timeline/homeTimeline";
import { isReadAnew } from "../timeline/isReadAnew";
import { connection } from "./connection";
import { keepWatching } from "./keepWatching";

const TimelineEvents = graphql(`
  subscription TimelineEvents($after: String) {
    timeline(after: $after) {
      __typename
      ... on PostAdded {
        cursor
        post {
          id
          createdAt
          author {
            id
            isViewer
          }
          ...PostCard
        }
      }
      ... on PostRemoved {
        cursor
        postId
      }
    }
  }
`);

const READ_AGAIN_AFTER = 2_000;

/** Reads the timeline, and anew as much of it as was read before. */
async function readTimeline(client: Client, requestPolicy: "cache-first" | "network-only") {
  const lengthOf = (result: { data?: { viewer: { timeline: { nodes: unknown[] } } | null } }) =>
    result.data?.viewer?.timeline.nodes.length ?? 0;
  const known = lengthOf(await client.query(HomeTimeline, {}, { requestPolicy: "cache-only" }));
  let result = await client.query(HomeTimeline, {}, { requestPolicy });
  const first = result;
  while (lengthOf(result) < known) {
    const pageInfo = result.data?.viewer?.timeline.pageInfo;
    if (!pageInfo?.hasNextPage) break;
    result = await client.query(HomeTimeline, { after: pageInfo.endCursor }, { requestPolicy });
  }
  return first;
}

interface TimelineWatch {
  /** Reads it anew, because the viewer follows somebody since then. */
  takeUp: (userId: string, since: string) => void;
  readAnew: () => void;
  stop: () => void;
}

/** Watches the timeline of whoever the client is signed in as. */
export function watchTimeline(client: Client): TimelineWatch {
  /** Who was taken up, and since when each is followed: it is told by the answer, and by an event. */
  const takenUp = new Map<string, string>();
  let stopWatching = () => {};
  let timer: ReturnType<typeof setTimeout>;
  /** Which reading is the last one; what comes of an earlier one is not wanted any more. */
  let turn = 0;

  const watchFrom = (start: string | null) => {
    let after = start ?? undefined;
    // An empty timeline has no cursor to go on from. What came to it before it was watched is not told: it is read
    // once more as soon as it is watched.
    const readOnceWatched = () => {
      if (after !== undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => void readMissed(), READ_AGAIN_AFTER);
    };
    const ownTurn = turn;
    const readMissed = async () => {
      const { data } = await client.query(HomeTimeline, {}, { requestPolicy: "network-only" });
      if (ownTurn !== turn) return;
      if (!data?.viewer) readOnceWatched();
      else if (data.viewer.timeline.nodes.length > 0 || after !== undefined) void read("network-only");
    };
    const stopEvents = keepWatching({
      begin: () => {
        readOnceWatched();
        return client.subscription(TimelineEvents, { after });
      },
      onData: ({ timeline }) => {
        after = timeline.cursor;
      },
      onRefused: (error) => {
        if (mustReadAnew(error)) void read("network-only");
        return !mustReadAnew(error);
      },
    });
    const stopConnection = connection.store.subscribe(() => {
      if (connection.isFound()) readOnceWatched();
    });
    stopWatching = () => {
      stopEvents();
      stopConnection();
    };
  };

  const read = async (requestPolicy: "cache-first" | "network-only") => {
    stop();
    const ownTurn = turn;
    isReadAnew.set(true);
    const { data, error } = await readTimeline(client, requestPolicy);
    if (ownTurn !== turn) return;
    isReadAnew.set(false);
    if (error?.networkError) connection.lost();
    if (data?.viewer) watchFrom(data.viewer.timeline.pageInfo.startCursor);
    else timer = setTimeout(() => void read("network-only"), READ_AGAIN_AFTER);
  };

  const stop = () => {
    turn += 1;
    clearTimeout(timer);
    stopWatching();
    isReadAnew.set(false);
  };

  const readAnew = () => void read("network-only");
  const takeUp = (userId: string, since: string) => {
    if (takenUp.get(userId) === since) return;
    takenUp.set(userId, since);
    readAnew();
  };

  void read("cache-first");
  return { takeUp, readAnew, stop };
}
