// Keeps the subscriptions open while a user is signed in, on every page.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { useClient } from "urql";
import { watchRelations } from "./watchRelations";
import { watchTimeline } from "./watchTimeline";

interface LiveActions {
  /** Brings the posts of a newly followed user into the home timeline. */
  onFollowed: (userId: string, since: string) => void;
}

const LiveContext = createContext<LiveActions>({ onFollowed: () => {} });

export const useLive = () => useContext(LiveContext);

export function Live({ children }: { children: ReactNode }) {
  const client = useClient();
  const timeline = useRef<ReturnType<typeof watchTimeline>>(null);

  useEffect(() => {
    const watched = watchTimeline(client);
    timeline.current = watched;
    const stopRelations = watchRelations(client, { onFollowed: watched.onFollowed, onMissed: watched.refetch });
    return () => {
      watched.stop();
      stopRelations();
    };
  }, [client]);

  const actions = useMemo<LiveActions>(
    () => ({ onFollowed: (userId, since) => timeline.current?.onFollowed(userId, since) }),
    [],
  );
  return <LiveContext value={actions}>{children}</LiveContext>;
}
