// The end of an endless list: requests the next page when scrolled near, and shows the loading state.

import { useEffect, useRef } from "react";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";
import type { Reading } from "../ui/Missing";

/** The distance below the window at which the next page is requested. */
const NEAR = "900px";

/** An endless list and the reads of its pages. */
export interface ListReading extends Reading {
  /** False at the end of the list, undefined until a page is loaded. */
  hasMore?: boolean;
  onMore: () => void;
}

interface ListEndProps {
  /** The kind of entries, such as "posts". */
  what: string;
  reading: ListReading;
  /** The text to show at the end of the list. */
  atEnd: string;
}

export function ListEnd({ what, reading, atEnd }: ListEndProps) {
  const { isLoading, error, refetch, hasMore, onMore } = reading;
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!hasMore || isLoading || error || end.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onMore();
      },
      { rootMargin: NEAR },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, isLoading, error, onMore]);

  return (
    <div ref={end} className="list-end">
      {error && !isLoading && <Failure error={error} onRetry={refetch} />}
      {isLoading && <Loading what={what} />}
      {hasMore === false && !isLoading && !error && <p className="quiet-text">{atEnd}</p>}
    </div>
  );
}
