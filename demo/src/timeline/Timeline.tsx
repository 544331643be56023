// The home timeline, loaded page by page, with new posts as they arrive.

import { useTimeline } from "@fanfold/client/react";
import { useRefreshingOnReturn } from "../api/useRefreshing";
import { useRetrying } from "../api/useRetrying";
import { homeTimeline } from "./homeTimeline";
import { NewPosts } from "./NewPosts";
import { PostPages } from "./PostPages";

export function Timeline() {
  const { entries, waiting, reveal, hasMore, loadMore, refresh, isLoading, error } = useTimeline(homeTimeline);
  // No event reports that a post is edited.
  useRefreshingOnReturn(refresh);
  // A read of the first pages is retried by the client.
  useRetrying(error, loadMore);
  const showNew = () => {
    reveal();
    window.scrollTo({ top: 0 });
  };
  return (
    <div className="timeline">
      <NewPosts count={waiting} onReveal={showNew} />
      <PostPages
        label="Home timeline"
        entries={entries}
        reading={{ isLoading, error, hasMore, refetch: hasMore ? loadMore : refresh, onMore: loadMore }}
        empty="Nothing here yet: follow someone, or write a post."
        atEnd="End of the timeline."
      />
    </div>
  );
}
