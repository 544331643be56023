// Provides the client of a session and its subscriptions to all pages that need a signed-in user.

import { FanfoldProvider } from "@fanfold/client/react";
import { type ReactNode, useEffect, useState } from "react";
import { Provider } from "urql";
import { type OpenClient, openClient } from "../api/client";
import { connection } from "../live/connection";
import { watchRelations } from "../live/watchRelations";
import { notices } from "../shell/notices";

export function SignedIn({ token, children }: { token: string; children: ReactNode }) {
  const [open, setOpen] = useState<OpenClient>();

  useEffect(() => {
    const opened = openClient(token);
    watchRelations(opened);
    setOpen(opened);
    return () => {
      opened.fanfold.close();
      connection.reset();
      notices.store.set([]);
    };
  }, [token]);

  if (!open) return null;
  return (
    <Provider value={open.client}>
      <FanfoldProvider binding={open.binding}>{children}</FanfoldProvider>
    </Provider>
  );
}
