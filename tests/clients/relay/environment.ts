// The store of a page, and the way to a server: of each document, the compiler has left its hash.

import { Environment, type FetchFunction, type GraphQLResponse, Network, RecordSource, Store } from "relay-runtime";

export function createEnvironment(url: string, token?: string): Environment {
  const ask: FetchFunction = async ({ id }, variables) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/graphql-response+json",
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: JSON.stringify({ documentId: id, variables }),
    });
    return (await response.json()) as GraphQLResponse;
  };
  return new Environment({ network: Network.create(ask), store: new Store(new RecordSource()) });
}
