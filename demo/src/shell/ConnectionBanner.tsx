// Tells that the connection was lost, and that it is back.

import { useEffect } from "react";
import { connection } from "../live/connection";
import { useStore } from "../ui/store";

const TOLD_FOR = 4_000;

export function ConnectionBanner() {
  const reachable = useStore(connection.store);
  useEffect(() => {
    if (reachable !== "back") return;
    const timer = setTimeout(connection.found, TOLD_FOR);
    return () => clearTimeout(timer);
  }, [reachable]);
  return (
    <div className="connection" role="status">
      {reachable === "lost" && <p data-connection="lost">Connection lost. Trying again …</p>}
      {reachable === "back" && <p data-connection="back">Connected again.</p>}
    </div>
  );
}
