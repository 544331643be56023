// How operations are sent: queries and mutations over HTTP, subscriptions over a socket.

import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";

import { session } from "./session";

const URL = "/graphql";

/** Headers have no capitals here, so that the editor's `Authorization` takes the place of the session's. */
function headersOf(given: Record<string, unknown> | undefined): Record<string, string> {
  const signedIn = session();
  const headers: Record<string, string> = signedIn ? { authorization: `Bearer ${signedIn.token}` } : {};
  for (const [name, value] of Object.entries(given ?? {})) headers[name.toLowerCase()] = String(value);
  return headers;
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
  return send(parameters, { ...options, headers });
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
