// All that needs somebody who is signed in: a client for the session, and what is watched with it.

import { type ReactNode, useEffect, useState } from "react";
import { type Client, Provider } from "urql";
import { openClient } from "../api/client";
import { connection } from "../live/connection";
import { Live } from "../live/Live";
import { notices } from "../shell/notices";
import { newestShown } from "../timeline/arrivals";

export function SignedIn({ token, children }: { token: string; children: ReactNode }) {
  const [client, setClient] = useState<Client>();

  useEffect(() => {
    const opened = openClient(token);
    setClient(opened.client);
    return () => {
      opened.close();
      connection.forget();
      newestShown.set(null);
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
