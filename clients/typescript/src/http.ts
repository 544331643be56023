import type { Operation, Result } from "./document.js";
import { rejection, unreachable } from "./error.js";
import type { Session } from "./session.js";

/** How requests are sent. */
export interface Transport {
  readonly url: string;
  readonly session: Session;
  /** The time after which a request without a response has failed, in milliseconds. */
  readonly timeout: number;
}

/** Returns the header with a token; none for an anonymous request. */
export const authorization = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

/** Sends an operation with a token; null for an anonymous request. Fails if there is no response of the API. */
export async function send<Data>(
  operation: Operation,
  token: string | null,
  { url, timeout }: Pick<Transport, "url" | "timeout">,
  options?: RequestInit,
): Promise<Result<Data>> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/graphql-response+json",
        ...authorization(token),
      },
      body: JSON.stringify(operation),
      signal: AbortSignal.timeout(timeout),
      ...options,
    });
    return (await response.json()) as Result<Data>;
  } catch (cause) {
    throw unreachable(cause);
  }
}

/** Sends an operation with the session's token; once more with another one if the server has rejected it. */
export async function execute<Data>(operation: Operation, transport: Transport): Promise<Result<Data>> {
  const { session } = transport;
  const token = await session.token();
  const result = await send<Data>(operation, token, transport);
  const isRejected = token !== null && result.errors && rejection(result.errors).code === "UNAUTHENTICATED";
  const hasAnother = isRejected && (await session.reject(token));
  // What has data was executed in part, up to the end of the session.
  return hasAnother && session.isRefreshed && !result.data
    ? send<Data>(operation, await session.token(), transport)
    : result;
}
