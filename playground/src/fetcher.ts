// How operations are sent: queries and mutations over HTTP, subscriptions over a socket.

import { createGraphiQLFetcher, type Fetcher, type FetcherParams } from "@graphiql/toolkit";
import { Kind, parse, type DocumentNode } from "graphql";

import { session } from "./session";

const URL = "/graphql";

/** Headers have no capitals here, so that the editor's `Authorization` takes the place of the session's. */
function headersOf(given: Record<string, unknown> | undefined): Record<string, string> {
  const signedIn = session();
  const headers: Record<string, string> = signedIn ? { authorization: `Bearer ${signedIn.token}` } : {};
  for (const [name, value] of Object.entries(given ?? {})) headers[name.toLowerCase()] = String(value);
  return headers;
}

/** The document that is sent; null if it is none. What GraphiQL says of it may be of a moment ago. */
function documentOf({ query }: FetcherParams): DocumentNode | null {
  try {
    return parse(query);
  } catch {
    return null;
  }
}

/** The name of the operation to execute: that of the only one there is, else the one that was chosen. */
function operationOf(document: DocumentNode | null, chosen: string | null | undefined) {
  const operations = document?.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION) ?? [];
  return operations.length === 1 ? operations[0]?.name?.value : (chosen ?? undefined);
}

/** Whoever is signed in asks; a header written in the header editor counts more. */
export const fetcher: Fetcher = (parameters, options) => {
  const headers = headersOf(options?.headers);
  const send = createGraphiQLFetcher({
    url: URL,
    subscriptionUrl: URL,
    wsConnectionParams: headers,
    enableIncrementalDelivery: false,
  });
  const document = documentOf(parameters);
  const operationName = operationOf(document, parameters.operationName);
  return send({ ...parameters, operationName }, { headers, ...(document && { documentAST: document }) });
};

/** The answer to one operation that the page itself asks for. */
export async function ask<Data>(query: string, variables: Record<string, unknown>): Promise<Data> {
  const response = await fetch(URL, {
    method: "POST",
    headers: { "content-type": "application/json", ...headersOf(undefined) },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: { message: string }[] };
  if (errors?.[0]) throw new Error(errors[0].message);
  return data!;
}
