// The end of an endless list: asks for more when it comes near, and says how it goes.

import { useEffect, useRef } from "react";
import type { CombinedError } from "urql";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";

/** How far below the window the end may be when more is asked for. */
const NEAR = "900px";

interface ListEndProps {
  /** What the list is of, such as "posts". */
  what: string;
  isFetching: boolean;
  error?: CombinedError;
  /** What to say at the true end. */
  atEnd: string;
  /** From where to read on; null at the true end. */
  next: string | null;
  onMore: (after: string) => void;
  onRetry: () => void;
}

export function ListEnd({ what, atEnd, isFetching, error, next, onMore, onRetry }: ListEndProps) {
  const end = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (next === null || isFetching || error || end.current === null) return;
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
