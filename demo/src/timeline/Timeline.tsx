// The home timeline, loaded page by page, with new posts as they arrive.

import { useState } from "react";
import { useQuery } from "urql";
import { useRefreshingOnReturn } from "../api/useRefreshing";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { useLive } from "../live/Live";
import { useStore } from "../ui/store";
import { HomeTimeline } from "./homeTimeline";
import { NewPosts } from "./NewPosts";
import { PostPages } from "./PostPages";
import { refetching } from "./refetching";
import { useArrivals } from "./useArrivals";
import { useStable } from "./useStable";

export function Timeline() {
  const { refetchTimeline } = useLive();
  const [after, setAfter] = useState<string>();
  // All pages in the cache. The live watch reads the first page, and retries.
  const [{ data, error }] = useQuery({ query: HomeTimeline, variables: {}, requestPolicy: "cache-only" });
  const next = useRetryingQuery({ query: HomeTimeline, variables: { after }, pause: after === undefined });
  const isRefetching = useStore(refetching);
  const timeline = useStable(data?.viewer?.timeline, isRefetching || error !== undefined);
  const { shown, waiting, reveal } = useArrivals(timeline?.edges ?? []);
  useRefreshingOnReturn(refetchTimeline);
  const reading = {
    isLoading: next.isLoading || isRefetching || (!timeline && !error),
    error: next.error ?? error,
    refetch: next.error ? next.refetch : refetchTimeline,
  };
  return (
    <div className="timeline">
      <NewPosts count={waiting} onReveal={reveal} />
      <PostPages
        label="Home timeline"
        entries={shown}
        pageInfo={timeline?.pageInfo}
        reading={{ ...reading, onMore: setAfter }}
        empty="Nothing here yet: follow someone, or write a post."
        atEnd="End of the timeline."
      />
    </div>
  );
}
