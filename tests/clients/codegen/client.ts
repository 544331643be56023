// Executes documents by their hash: queries and mutations over HTTP, subscriptions over a WebSocket.

import { createClient } from "graphql-ws";
import WebSocket from "ws";

import type { TypedDocumentString } from "./generated/graphql";

type Values = Record<string, unknown>;

interface Result<Data> {
  data?: Data | null | undefined;
  errors?: ReadonlyArray<{ message: string; path?: ReadonlyArray<string | number> | undefined }> | undefined;
}

/** Returns the data, in which each failed field is null, and logs these failures; throws if there is no data. */
function dataOf<Data>({ data, errors = [] }: Result<Data>): Data {
  if (!data) throw new Error(errors.map(({ message }) => message).join(" ") || "The response has no data.");
  for (const { message, path } of errors) console.error(`${path?.join(".")}: ${message}`);
  return data;
}

/** The body of a request: the generator has replaced the document with its hash. */
function requestBody<Data, Variables>(document: TypedDocumentString<Data, Variables>, variables: Variables) {
  return { documentId: String(document.__meta__?.["hash"]), variables };
}

export class Client {
  constructor(
    private readonly url: string,
    private readonly token?: string,
  ) {}

  private get headers(): Record<string, string> {
    return this.token ? { authorization: `Bearer ${this.token}` } : {};
  }

  /** A client of the same server with a session token. */
  as(token: string): Client {
    return new Client(this.url, token);
  }

  async execute<Data, Variables extends Values>(
    document: TypedDocumentString<Data, Variables>,
    variables: NoInfer<Variables>,
  ): Promise<Data> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/graphql-response+json",
        ...this.headers,
      },
      body: JSON.stringify(requestBody(document, variables)),
    });
    return dataOf((await response.json()) as Result<Data>);
  }

  /** Yields the events of a subscription, until the caller stops iterating. */
  async *subscribe<Data, Variables extends Values>(
    document: TypedDocumentString<Data, Variables>,
    variables: NoInfer<Variables>,
  ): AsyncGenerator<Data, void> {
    const socket = createClient({
      url: this.url.replace(/^http/, "ws"),
      webSocketImpl: WebSocket,
      connectionParams: this.headers,
    });
    try {
      // The library requires `query`.
      const payload = { query: "", ...requestBody(document, variables) };
      for await (const result of socket.iterate<Data>(payload)) yield dataOf(result);
    } finally {
      await socket.dispose();
    }
  }
}
