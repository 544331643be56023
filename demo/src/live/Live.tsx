// Keeps the subscriptions open while a user is signed in, on every page.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import type { RelationPartsFragment } from "../generated/graphql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /**
   * Called before this client changes a relation; the returned function is called with the result, and brings the posts
   * of a newly followed user into the home timeline.
   */
  beginChange: (userId: string) => (user?: RelationPartsFragment | null) => void;
}

const LiveContext = createContext<LiveActions>({ beginChange: () => () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const relations = useRef<ReturnType<typeof watchRelations>>(null);

  useEffect(() => {
    const timeline = watchTimeline(client);
    const watched = watchRelations(client, { onFollowed: timeline.onFollowed, onMissed: timeline.refetch });
    relations.current = watched;
    return () => {
      timeline.stop();
      watched.stop();
    };
  }, [client]);

  const actions = useMemo<LiveActions>(
    () => ({ beginChange: (userId) => relations.current?.beginChange(userId) ?? (() => {}) }),
    [],
  );
  return <LiveContext value={actions}>{children}</LiveContext>;
}
