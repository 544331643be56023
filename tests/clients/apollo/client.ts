// Apollo Client with its normalised cache: queries and mutations over HTTP, subscriptions over a WebSocket.

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { OperationTypeNode } from "graphql";
import { type Client as Socket, createClient } from "graphql-ws";
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

/** The cache stores every object with an id by its type and id, without configuration. Only lists need a policy. */
const createCache = () =>
  new InMemoryCache({
    typePolicies: {
      User: {
        fields: {
          followers: relayStylePagination(),
          following: relayStylePagination(),
          mutuals: relayStylePagination(),
          knownFollowers: relayStylePagination(),
          posts: relayStylePagination(["createdAt"]),
        },
      },
      Viewer: { fields: { timeline: relayStylePagination(["replies"]) } },
    },
  });

export interface Session {
  client: ApolloClient;
  socket: Socket;
}

export function openSession(url: string, token?: string): Session {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const socket = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: WebSocket,
    connectionParams: headers,
  });
  const link = ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(socket),
    new HttpLink({ uri: url, headers }),
  );
  const client = new ApolloClient({
    link,
    cache: createCache(),
    // A field that failed is null: keep the rest of the data.
    defaultOptions: { watchQuery: { errorPolicy: "all" }, mutate: { errorPolicy: "all" } },
  });
  return { client, socket };
}
