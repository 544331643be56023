// The home timeline, loaded page by page, with new posts as they arrive.

import { useState } from "react";
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
  const [after, setAfter] = useState<string>();
  const { data, isLoading, error, refetch } = useRetryingQuery({ query: HomeTimeline, variables: { after } });
  const isRefetching = useStore(refetching);
  const timeline = useStable(data?.viewer?.timeline, isRefetching);
  const { shown, waiting, reveal } = useArrivals(timeline?.edges ?? []);
  useRefreshingOnReturn(useLive().refetchTimeline);
  return (
    <div className="timeline">
      <NewPosts count={waiting} onReveal={reveal} />
      <PostPages
        label="Home timeline"
        entries={shown}
        pageInfo={timeline?.pageInfo}
        reading={{ isLoading: isLoading || isRefetching, error, refetch, onMore: setAfter }}
        empty="Nothing here yet: follow someone, or write a post."
        atEnd="End of the timeline."
      />
    </div>
  );
}
