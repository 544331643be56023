// How operations are sent: queries and mutations over HTTP, subscriptions over a socket.

import { createGraphiQLFetcher, type Fetcher, type FetcherParams } from "@graphiql/toolkit";
import { Kind, parse, type DocumentNode } from "graphql";

import { endSession, session } from "./session";

const URL = "/graphql";

type Written = Record<string, string>;

const bearer = (token: string): Written => ({ authorization: `Bearer ${token}` });

/** Of whoever is signed in. */
function ownHeaders(): Written {
  const signedIn = session();
  return signedIn ? bearer(signedIn.token) : {};
}

/** Without capitals, so that the editor's `Authorization` takes the place of the session's. */
function writtenHeaders(written: Record<string, unknown> | undefined): Written {
  return Object.fromEntries(Object.entries(written ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** Sends a request. A session that is none any more is forgotten. */
const send: typeof fetch = async (url, request) => {
  const response = await fetch(url, request);
  const sent = new Headers(request?.headers).get("authorization");
  if (response.status === 401 && sent !== null && sent === ownHeaders().authorization) endSession(true);
  return response;
};

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

/** Whoever is signed in asks; a header written in the header editor counts more. The schema is the same for everybody. */
export const fetcher: Fetcher = (parameters, options) => {
  const written = writtenHeaders(options?.headers);
  const isAboutSchema = parameters.operationName === "IntrospectionQuery";
  const headers = isAboutSchema ? written : { ...ownHeaders(), ...written };
  const fetch = createGraphiQLFetcher({
    url: URL,
    subscriptionUrl: URL,
    wsConnectionParams: headers,
    enableIncrementalDelivery: false,
    fetch: send,
  });
  const document = documentOf(parameters);
  const operationName = operationOf(document, parameters.operationName);
  return fetch({ ...parameters, operationName }, { headers, ...(document && { documentAST: document }) });
};

/** The answer to one operation that the page itself asks for. */
export async function ask<Data>(query: string, variables: Record<string, unknown>, token?: string): Promise<Data> {
  const response = await fetch(URL, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/graphql-response+json",
      ...(token === undefined ? {} : bearer(token)),
    },
    body: JSON.stringify({ query, variables }),
    // Also if the page is left meanwhile.
    keepalive: true,
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: { message: string }[] };
  if (errors?.[0]) throw new Error(errors[0].message);
  return data!;
}
