// Keeps the subscriptions open while a user is signed in, on every page.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import type { RelationPartsFragment } from "../generated/graphql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Handles a change that this client has made: brings the posts of a newly followed or unmuted user into the home timeline. */
  onChanged: (user: RelationPartsFragment, wasMuted?: boolean) => void;
  /** Refetches the home timeline: no event reports that a post is edited. */
  refetchTimeline: () => void;
}

const LiveContext = createContext<LiveActions>({ onChanged: () => {}, refetchTimeline: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const relations = useRef<ReturnType<typeof watchRelations>>(null);
  const timeline = useRef<ReturnType<typeof watchTimeline>>(null);

  useEffect(() => {
    const posts = watchTimeline(client);
    const { onFollowed, refetch } = posts;
    const watched = watchRelations(client, { onFollowed, onUnmuted: refetch, onMissed: refetch });
    timeline.current = posts;
    relations.current = watched;
    return () => {
      posts.stop();
      watched.stop();
    };
  }, [client]);

  const actions = useMemo<LiveActions>(
    () => ({
      onChanged: (user, wasMuted) => relations.current?.onChanged(user, wasMuted),
      refetchTimeline: () => timeline.current?.refetch(),
    }),
    [],
  );
  return <LiveContext value={actions}>{children}</LiveContext>;
}
