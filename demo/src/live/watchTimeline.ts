// Watches the home timeline. The cache puts what happens where it belongs; here is only kept from where to go on.

import type { Client } from "urql";
import { mustReadAnew } from "../api/failures";
import { graphql } from "../generated";
import { HomeTimeline } from "../timeline/homeTimeline";
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

/** Watches the timeline of whoever the client is signed in as. */
export function watchTimeline(client: Client): { readAnew: () => void; stop: () => void } {
  let stopWatching = () => {};
  let timer: ReturnType<typeof setTimeout>;
  /** Which reading is the last one; what comes of an earlier one is not wanted any more. */
  let turn = 0;

  const watchFrom = (start: string | null | undefined) => {
    let after = start ?? undefined;
    stopWatching = keepWatching({
      begin: () => client.subscription(TimelineEvents, { after }),
      onData: ({ timeline }) => {
        after = timeline.cursor;
      },
      onRefused: (error) => {
        if (mustReadAnew(error)) void read("network-only");
        return !mustReadAnew(error);
      },
    });
  };

  const read = async (requestPolicy: "cache-first" | "network-only") => {
    stop();
    const ownTurn = turn;
    const { data, error } = await client.query(HomeTimeline, {}, { requestPolicy });
    if (ownTurn !== turn) return;
    if (error?.networkError) connection.lost();
    if (data?.viewer) watchFrom(data.viewer.timeline.pageInfo.startCursor);
    else timer = setTimeout(() => void read("network-only"), READ_AGAIN_AFTER);
  };

  const stop = () => {
    turn += 1;
    clearTimeout(timer);
    stopWatching();
  };

  void read("cache-first");
  return { readAnew: () => void read("network-only"), stop };
}
