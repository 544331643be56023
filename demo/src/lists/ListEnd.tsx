// The end of an endless list: requests the next page when scrolled near, and shows the loading state.

import { useEffect, useRef } from "react";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";

/** The distance below the window at which the next page is requested. */
const NEAR = "900px";

interface ListEndProps {
  /** The kind of entries, such as "posts". */
  what: string;
  isFetching: boolean;
  error?: Error;
  /** The text to show at the end of the list. */
  atEnd: string;
  /** False at the end of the list, undefined until a page is loaded. */
  hasMore?: boolean;
  onMore: () => void;
  onRetry: () => void;
}

export function ListEnd({ what, atEnd, isFetching, error, hasMore, onMore, onRetry }: ListEndProps) {
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!hasMore || isFetching || error || end.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onMore();
      },
      { rootMargin: NEAR },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, isFetching, error, onMore]);

  return (
    <div ref={end} className="list-end">
      {error && !isFetching && <Failure error={error} onRetry={onRetry} />}
      {isFetching && <Loading what={what} />}
      {hasMore === false && !isFetching && !error && <p className="quiet-text">{atEnd}</p>}
    </div>
  );
}
