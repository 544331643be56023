// Keeps the subscriptions open while a user is signed in, on every page.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import type { RelationPartsFragment } from "../generated/graphql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Handles a change that this client has made: brings the posts of a newly followed or unmuted user into the home timeline. */
  onChanged: (user: RelationPartsFragment, wasMuted?: boolean) => void;
}

const LiveContext = createContext<LiveActions>({ onChanged: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const relations = useRef<ReturnType<typeof watchRelations>>(null);

  useEffect(() => {
    const timeline = watchTimeline(client);
    const { onFollowed, refetch } = timeline;
    const watched = watchRelations(client, { onFollowed, onUnmuted: refetch, onMissed: refetch });
    relations.current = watched;
    return () => {
      timeline.stop();
      watched.stop();
    };
  }, [client]);

  const actions = useMemo<LiveActions>(
    () => ({ onChanged: (user, wasMuted) => relations.current?.onChanged(user, wasMuted) }),
    [],
  );
  return <LiveContext value={actions}>{children}</LiveContext>;
}
