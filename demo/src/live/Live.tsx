// Watches what happens as long as somebody is signed in, whatever page is shown.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Reads the home timeline anew, because whom it is made of has changed. */
  readTimelineAnew: () => void;
}

const LiveContext = createContext<LiveActions>({ readTimelineAnew: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const timeline = useRef<ReturnType<typeof watchTimeline>>(null);

  useEffect(() => {
    const watched = watchTimeline(client);
    timeline.current = watched;
    const stopRelations = watchRelations(client);
    return () => {
      watched.stop();
      stopRelations();
    };
  }, [client]);

  const actions = useMemo(() => ({ readTimelineAnew: () => timeline.current?.readAnew() }), []);
  return <LiveContext value={actions}>{children}</LiveContext>;
}
