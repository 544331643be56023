// Sends operations: queries and mutations over HTTP, subscriptions over a WebSocket.

import { createGraphiQLFetcher, type Fetcher, type FetcherParams } from "@graphiql/toolkit";
import { Kind, parse, type DocumentNode } from "graphql";

import { endSession, session } from "./session";

const URL = "/graphql";

type HeaderValues = Record<string, string>;

const bearer = (token: string): HeaderValues => ({ authorization: `Bearer ${token}` });

/** The headers of the current session, if any. */
function sessionHeaders(): HeaderValues {
  const current = session();
  return current ? bearer(current.token) : {};
}

/** The headers of the header editor, in lower case, so that its `Authorization` replaces the session's. */
function editorHeaders(headers: Record<string, unknown> | undefined): HeaderValues {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** Sends a request. Discards the session if the server rejects its token. */
const send: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  const sent = new Headers(init?.headers).get("authorization");
  if (response.status === 401 && sent !== null && sent === sessionHeaders().authorization) endSession(true);
  return response;
};

/** Parses the document to send; null if it has a syntax error. GraphiQL's own parsed document may be outdated. */
function documentOf({ query }: FetcherParams): DocumentNode | null {
  try {
    return parse(query);
  } catch {
    return null;
  }
}

/** The name of the operation to execute: the only operation of the document, or else the chosen one. */
function operationOf(document: DocumentNode | null, chosen: string | null | undefined) {
  const operations = document?.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION) ?? [];
  return operations.length === 1 ? operations[0]?.name?.value : (chosen ?? undefined);
}

/**
 * Sends an operation with the session's token; headers of the header editor take precedence. Introspection is sent
 * without the token, because the schema is the same for all users.
 */
export const fetcher: Fetcher = (parameters, options) => {
  const edited = editorHeaders(options?.headers);
  const isIntrospection = parameters.operationName === "IntrospectionQuery";
  const headers = isIntrospection ? edited : { ...sessionHeaders(), ...edited };
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

/** Executes an operation of the page itself, and returns its data. */
export async function request<Data>(query: string, variables: Record<string, unknown>, token?: string): Promise<Data> {
  const response = await fetch(URL, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/graphql-response+json",
      ...(token === undefined ? {} : bearer(token)),
    },
    body: JSON.stringify({ query, variables }),
    // Complete the request even if the page is closed.
    keepalive: true,
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: { message: string }[] };
  if (errors?.[0]) throw new Error(errors[0].message);
  return data!;
}
