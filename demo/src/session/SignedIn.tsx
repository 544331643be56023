// Provides the client of a session and its subscriptions to all pages that need a signed-in user.

import { type ReactNode, useEffect, useState } from "react";
import { type Client, Provider } from "urql";
import { openClient } from "../api/client";
import { connection } from "../live/connection";
import { Live } from "../live/Live";
import { notices } from "../shell/notices";
import { shownEntries } from "../timeline/arrivals";

export function SignedIn({ token, children }: { token: string; children: ReactNode }) {
  const [client, setClient] = useState<Client>();

  useEffect(() => {
    const opened = openClient(token);
    setClient(opened.client);
    return () => {
      opened.close();
      connection.reset();
      shownEntries.set(null);
      notices.store.set([]);
    };
  }, [token]);

  if (!client) return null;
  return (
    <Provider value={client}>
      <Live>{children}</Live>
    </Provider>
  );
}
