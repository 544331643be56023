// The home timeline, loaded page by page, with new posts as they arrive.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { Feed } from "../lists/Feed";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import { useStore } from "../ui/store";
import { HomeTimeline } from "./homeTimeline";
import { NewPosts } from "./NewPosts";
import { PostCard } from "./PostCard";
import { refetching } from "./refetching";
import { useArrivals } from "./useArrivals";
import { useStable } from "./useStable";

export function Timeline() {
  const [after, setAfter] = useState<string>();
  const { data, isLoading, error, refetch } = useRetryingQuery({ query: HomeTimeline, variables: { after } });
  const isRefetching = useStore(refetching);
  const timeline = useStable(data?.viewer?.timeline, isRefetching);
  const { shown, waiting, reveal } = useArrivals(timeline?.nodes ?? []);
  const isFetching = isLoading || isRefetching;
  return (
    <div className="timeline">
      <NewPosts count={waiting} onReveal={reveal} />
      <Feed label="Home timeline" isBusy={isFetching}>
        {shown.map((post, index) => (
          <PostCard key={post.id} post={post} position={index + 1} />
        ))}
      </Feed>
      <ListEnd
        what="posts"
        atEnd={shown.length === 0 ? "Nothing here yet: follow someone, or write a post." : "End of the timeline."}
        isFetching={isFetching}
        error={error}
        next={nextPageOf(timeline)}
        onMore={setAfter}
        onRetry={refetch}
      />
    </div>
  );
}
