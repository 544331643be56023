// urql with its normalised cache: queries and mutations over HTTP, subscriptions over a WebSocket.

import { Client, type ExecutionResult, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange, type UpdateResolver } from "@urql/exchange-graphcache";
import type { ResultOf } from "gql.tada";
import { type Client as Socket, createClient } from "graphql-ws";
import WebSocket from "ws";

import { Own, type Publish } from "./documents";

/** Puts a published post on top of its author's list, if the list is cached. */
const prependPost: UpdateResolver<ResultOf<typeof Publish>> = ({ publish }, _variables, cache) => {
  const edge = publish?.postEdge;
  if (!edge) return;
  cache.updateQuery({ query: Own }, (own) => {
    own?.viewer?.user.posts?.edges.unshift(edge);
    return own;
  });
};

/** The cache stores every object with an id by its type and id, without configuration. Events have none. */
const createCache = () =>
  cacheExchange({
    keys: { RelationChanged: () => null, RelationsReset: () => null },
    updates: { Mutation: { publish: prependPost } },
  });

export interface Session {
  client: Client;
  socket: Socket;
}

export function openSession(url: string, token?: string): Session {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const socket = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: WebSocket,
    connectionParams: headers,
  });
  const client = new Client({
    url,
    preferGetMethod: false,
    fetchOptions: { headers },
    exchanges: [
      createCache(),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = "", variables }) => ({
          subscribe: (sink) => {
            const next = (result: unknown) => sink.next(result as ExecutionResult);
            return { unsubscribe: socket.subscribe({ query, variables }, { ...sink, next }) };
          },
        }),
      }),
    ],
  });
  return { client, socket };
}
