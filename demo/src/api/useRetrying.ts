// Retries after transient errors: after a delay, and at once when the connection is restored.

import { errorOf } from "@fanfold/client/urql";
import { useEffect } from "react";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";

const MIN_DELAY_SECONDS = 5;

export function useRetrying(error: Error | undefined, retry: () => void): void {
  const reachable = useStore(connection.store);
  const cause = error && errorOf(error);

  useEffect(() => {
    if (!cause?.isTransient) return;
    const timer = setTimeout(retry, Math.max(MIN_DELAY_SECONDS, cause.retryAfterSeconds) * 1_000);
    return () => clearTimeout(timer);
  }, [error]);

  useEffect(() => {
    if (cause?.isTransient && reachable === "back") retry();
  }, [reachable]);
}
