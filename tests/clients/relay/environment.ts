// The store of a page, and its network. The compiler has replaced each document with its hash.

import { createClient, type Sink } from "graphql-ws";
import {
  Environment,
  type FetchFunction,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  Store,
  type SubscribeFunction,
} from "relay-runtime";
import WebSocket from "ws";

export function createEnvironment(url: string, token?: string): Environment {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const execute: FetchFunction = async ({ id }, variables) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/graphql-response+json",
        ...headers,
      },
      body: JSON.stringify({ documentId: id, variables }),
    });
    return (await response.json()) as GraphQLResponse;
  };
  const socket = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: WebSocket,
    connectionParams: headers,
  });
  const subscribe: SubscribeFunction = ({ id }, variables) =>
    Observable.create((sink) => {
      // The library requires `query`.
      const payload = { query: "", documentId: id, variables };
      return socket.subscribe(payload, sink as Sink);
    });
  return new Environment({ network: Network.create(execute, subscribe), store: new Store(new RecordSource()) });
}
