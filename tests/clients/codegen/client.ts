// Sends documents to a server by their hash: over HTTP, and over a socket what is watched.

import { createClient } from "graphql-ws";
import WebSocket from "ws";

import type { TypedDocumentString } from "./generated/graphql";

type Values = Record<string, unknown>;

interface Answer<Result> {
  data?: Result | null | undefined;
  errors?: ReadonlyArray<{ message: string }> | undefined;
}

/** All of the answer, or else an error: a part of it is none of its type. */
function dataOf<Result>({ data, errors }: Answer<Result>): Result {
  if (errors) throw new Error(errors.map(({ message }) => message).join(" "));
  if (!data) throw new Error("There are no data.");
  return data;
}

/** What is sent: of the document, the generator has left its hash. */
function named<Result, Variables>(document: TypedDocumentString<Result, Variables>, variables: Variables) {
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

  /** The same server, asked by whoever has this token. */
  as(token: string): Client {
    return new Client(this.url, token);
  }

  async ask<Result, Variables extends Values>(
    document: TypedDocumentString<Result, Variables>,
    variables: NoInfer<Variables>,
  ): Promise<Result> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/graphql-response+json",
        ...this.headers,
      },
      body: JSON.stringify(named(document, variables)),
    });
    return dataOf((await response.json()) as Answer<Result>);
  }

  /** Events as they come, until nobody asks for the next one. */
  async *watch<Result, Variables extends Values>(
    document: TypedDocumentString<Result, Variables>,
    variables: NoInfer<Variables>,
  ): AsyncGenerator<Result, void> {
    const socket = createClient({
      url: this.url.replace(/^http/, "ws"),
      webSocketImpl: WebSocket,
      connectionParams: this.headers,
    });
    try {
      // The library insists on a text.
      const payload = { query: "", ...named(document, variables) };
      for await (const answer of socket.iterate<Result>(payload)) yield dataOf(answer);
    } finally {
      await socket.dispose();
    }
  }
}
