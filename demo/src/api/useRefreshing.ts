// Refreshes data that no event keeps up to date: whenever the user returns to the page, or the connection is restored.

import { useEffect, useRef } from "react";
import { connection } from "../live/connection";

function useLatest(refresh: () => void) {
  const latest = useRef(refresh);
  useEffect(() => {
    latest.current = refresh;
  });
  return latest;
}

/** Refreshes when the user returns to the page. */
export function useRefreshingOnReturn(refresh: () => void): void {
  const latest = useLatest(refresh);
  useEffect(() => {
    const run = () => latest.current();
    addEventListener("focus", run);
    return () => removeEventListener("focus", run);
  }, []);
}

export function useRefreshing(refresh: () => void): void {
  const latest = useLatest(refresh);
  useRefreshingOnReturn(refresh);
  useEffect(
    () =>
      connection.store.subscribe(() => {
        if (connection.store.get() === "back") latest.current();
      }),
    [],
  );
}
