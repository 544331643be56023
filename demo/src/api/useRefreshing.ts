// Refreshes data that no event keeps up to date: whenever the user returns to the page, or the connection is restored.

import { useEffect, useEffectEvent } from "react";
import { connection } from "../live/connection";

/** Refreshes when the user returns to the page. */
export function useRefreshingOnReturn(refresh: () => void): void {
  const run = useEffectEvent(refresh);
  useEffect(() => {
    const onFocus = () => run();
    addEventListener("focus", onFocus);
    return () => removeEventListener("focus", onFocus);
  }, []);
}

export function useRefreshing(refresh: () => void): void {
  const run = useEffectEvent(refresh);
  useRefreshingOnReturn(refresh);
  useEffect(
    () =>
      connection.store.subscribe(() => {
        if (connection.store.get() === "back") run();
      }),
    [],
  );
}
