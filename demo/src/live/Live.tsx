// Keeps the subscriptions open while a user is signed in, on every page.

import type { Fanfold, Watch } from "@fanfold/client";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Refetches the home timeline: no event reports that a post is edited. */
  refetchTimeline: () => void;
}

const LiveContext = createContext<LiveActions>({ refetchTimeline: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ fanfold, children }: { fanfold: Fanfold; children: ReactNode }) {
  const client = useClient();
  const timeline = useRef<Watch>(null);

  useEffect(() => {
    const watched = watchTimeline(client, fanfold);
    const stopRelations = watchRelations(client, fanfold);
    timeline.current = watched;
    return () => {
      watched.stop();
      stopRelations();
    };
  }, [client, fanfold]);

  const actions = useMemo<LiveActions>(() => ({ refetchTimeline: () => timeline.current?.refresh() }), []);
  return <LiveContext value={actions}>{children}</LiveContext>;
}
