// Provides the client of a session and its subscriptions to all pages that need a signed-in user.

import { type ReactNode, useEffect, useState } from "react";
import { Provider } from "urql";
import { type OpenClient, openClient } from "../api/client";
import { connection } from "../live/connection";
import { Live } from "../live/Live";
import { notices } from "../shell/notices";
import { shownEntries } from "../timeline/arrivals";

export function SignedIn({ token, children }: { token: string; children: ReactNode }) {
  const [open, setOpen] = useState<OpenClient>();

  useEffect(() => {
    const opened = openClient(token);
    setOpen(opened);
    return () => {
      opened.fanfold.close();
      connection.reset();
      shownEntries.set(null);
      notices.store.set([]);
    };
  }, [token]);

  if (!open) return null;
  return (
    <Provider value={open.client}>
      <Live fanfold={open.fanfold}>{children}</Live>
    </Provider>
  );
}
