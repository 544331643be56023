// Watches what happens as long as somebody is signed in, whatever page is shown.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Takes somebody whom the viewer follows since then into the home timeline. */
  takeUp: (userId: string, since: string) => void;
}

const LiveContext = createContext<LiveActions>({ takeUp: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const timeline = useRef<ReturnType<typeof watchTimeline>>(null);

  useEffect(() => {
    const watched = watchTimeline(client);
    timeline.current = watched;
    const stopRelations = watchRelations(client, { onFollowed: watched.takeUp, onMissed: watched.readAnew });
    return () => {
      watched.stop();
      stopRelations();
    };
  }, [client]);

  const actions = useMemo<LiveActions>(
    () => ({ takeUp: (userId, since) => timeline.current?.takeUp(userId, since) }),
    [],
  );
  return <LiveContext value={actions}>{children}</LiveContext>;
}
