// Apollo Client with its normalised cache: queries and mutations over HTTP, subscriptions over a WebSocket.

import { ApolloClient, InMemoryCache } from "@apollo/client";
import { createFanfold, type Fanfold } from "@fanfold/client";
import { fanfoldCache, fanfoldLink } from "@fanfold/client/apollo";
import WebSocket from "ws";

/** The types of `defaultOptions` below. */
declare module "@apollo/client" {
  namespace ApolloClient.DeclareDefaultOptions {
    interface WatchQuery {
      errorPolicy: "all";
    }
    interface Mutate {
      errorPolicy: "all";
    }
  }
}

export interface Session {
  client: ApolloClient;
  fanfold: Fanfold;
}

/** Opens a client, in whose session a user can sign in. */
export function openSession(url: string): Session {
  const fanfold = createFanfold({ url, webSocket: WebSocket });
  const client = new ApolloClient({
    link: fanfoldLink(fanfold),
    cache: new InMemoryCache(fanfoldCache()),
    // A field that failed is null: keep the rest of the data.
    defaultOptions: { watchQuery: { errorPolicy: "all" }, mutate: { errorPolicy: "all" } },
  });
  return { client, fanfold };
}
