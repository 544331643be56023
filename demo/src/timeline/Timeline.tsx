// The home timeline, without an end, and with what comes to it while one reads.

import { useState } from "react";
import { useReading } from "../api/useReading";
import { Feed } from "../lists/Feed";
import { ListEnd } from "../lists/ListEnd";
import { useStore } from "../ui/store";
import { HomeTimeline } from "./homeTimeline";
import { isReadAnew } from "./isReadAnew";
import { NewPosts } from "./NewPosts";
import { PostCard } from "./PostCard";
import { useArrivals } from "./useArrivals";
import { useSteady } from "./useSteady";

export function Timeline() {
  const [after, setAfter] = useState<string>();
  const { data, fetching, stale, error, again } = useReading({ query: HomeTimeline, variables: { after } });
  const isInTheMaking = useStore(isReadAnew);
  const timeline = useSteady(data?.viewer?.timeline, isInTheMaking);
  const { shown, waiting, reveal } = useArrivals(timeline?.nodes ?? []);
  const next = timeline?.pageInfo.hasNextPage ? timeline.pageInfo.endCursor : null;
  const isFetching = fetching || stale || isInTheMaking;
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
        atEnd={shown.length === 0 ? "Nothing here yet: follow somebody, or write a post." : "That is all."}
        isFetching={isFetching}
        error={error}
        next={next}
        onMore={setAfter}
        onRetry={again}
      />
    </div>
  );
}
