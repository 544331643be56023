// A query that does not give up: what failed for a reason that passes is tried again, and at once when the connection
// is back.

import { useEffect } from "react";
import { type AnyVariables, useQuery, type UseQueryArgs } from "urql";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";
import { isPassing } from "./failures";

const RETRY_AFTER = 5_000;

export function useReading<Data, Variables extends AnyVariables>(options: UseQueryArgs<Variables, Data>) {
  const [result, execute] = useQuery(options);
  const reachable = useStore(connection.store);
  const { error } = result;
  const again = () => execute({ requestPolicy: "network-only" });

  const isWaiting = error !== undefined && isPassing(error);

  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(again, RETRY_AFTER);
    return () => clearTimeout(timer);
  }, [error]);

  useEffect(() => {
    if (isWaiting && reachable === "back") again();
  }, [reachable]);

  return { ...result, again };
}
