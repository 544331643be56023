// Reports that the connection was lost, and that it is restored.

import { useEffect } from "react";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";

const SHOWN_FOR_MS = 4_000;

export function ConnectionBanner() {
  const reachable = useStore(connection.store);
  useEffect(() => {
    if (reachable !== "back") return;
    const timer = setTimeout(connection.found, SHOWN_FOR_MS);
    return () => clearTimeout(timer);
  }, [reachable]);
  return (
    <div className="connection" role="status">
      {reachable === "lost" && <p data-connection="lost">Connection lost. Reconnecting …</p>}
      {reachable === "back" && <p data-connection="back">Connection restored.</p>}
    </div>
  );
}
