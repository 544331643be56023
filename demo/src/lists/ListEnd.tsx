// The end of an endless list: requests the next page when scrolled near, and shows the loading state.

import { useEffect, useRef } from "react";
import type { CombinedError } from "urql";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";

/** The distance below the window at which the next page is requested. */
const NEAR = "900px";

interface ListEndProps {
  /** The kind of entries, such as "posts". */
  what: string;
  isFetching: boolean;
  error?: CombinedError;
  /** The text to show at the end of the list. */
  atEnd: string;
  /** The cursor of the next page; null at the end of the list, undefined until a page is loaded. */
  next?: string | null;
  onMore: (after: string) => void;
  onRetry: () => void;
}

export function ListEnd({ what, atEnd, isFetching, error, next, onMore, onRetry }: ListEndProps) {
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!next || isFetching || error || end.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onMore(next);
      },
      { rootMargin: NEAR },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [next, isFetching, error, onMore]);

  return (
    <div ref={end} className="list-end">
      {error && !isFetching && <Failure error={error} onRetry={onRetry} />}
      {isFetching && <Loading what={what} />}
      {next === null && !isFetching && !error && <p className="quiet-text">{atEnd}</p>}
    </div>
  );
}
