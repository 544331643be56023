// The store of a page, and its network. The compiler has replaced each document with its hash.

import { Environment, type FetchFunction, type GraphQLResponse, Network, RecordSource, Store } from "relay-runtime";

export function createEnvironment(url: string, token?: string): Environment {
  const execute: FetchFunction = async ({ id }, variables) => {
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
  return new Environment({ network: Network.create(execute), store: new Store(new RecordSource()) });
}
