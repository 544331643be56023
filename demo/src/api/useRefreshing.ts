// Refreshes data that no event keeps up to date: whenever the user returns to the page, or the connection is restored.

import { useEffect, useRef } from "react";
import { connection } from "../live/connection";

export function useRefreshing(refresh: () => void): void {
  const latest = useRef(refresh);
  useEffect(() => {
    latest.current = refresh;
  });
  useEffect(() => {
    const run = () => latest.current();
    addEventListener("focus", run);
    const stopFollowing = connection.store.subscribe(() => {
      if (connection.store.get() === "back") run();
    });
    return () => {
      removeEventListener("focus", run);
      stopFollowing();
    };
  }, []);
}
