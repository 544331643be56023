// Classification of errors between the client and the server, and messages to show to the user.

import type { CombinedError } from "urql";
import type { ErrorCode } from "../generated/errorCode";

/** The errors after which a retry may succeed. */
const TRANSIENT: readonly ErrorCode[] = ["RATE_LIMITED", "UNAVAILABLE", "TIMEOUT"];

const has = (error: CombinedError, code: ErrorCode) =>
  error.graphQLErrors.some(({ extensions }) => extensions.code === code);

/** True if a retry may succeed. */
export const isTransient = (error: CombinedError) =>
  error.networkError !== undefined || TRANSIENT.some((code) => has(error, code));

/** Returns the delay before a retry, in milliseconds: at least `minimum`, and as long as the server demands. */
export function retryDelay(error: CombinedError | undefined, minimum: number): number {
  const demanded = error?.graphQLErrors.map(({ extensions }) => Number(extensions.retryAfterSeconds ?? 0)) ?? [];
  return Math.max(minimum, ...demanded.map((seconds) => seconds * 1_000));
}

/** Returns the message to show. The server's messages are sentences, and state when to retry where that helps. */
export function explain(error: CombinedError): string {
  if (error.networkError) return "The server cannot be reached.";
  return error.graphQLErrors.map(({ message }) => message).join(" ");
}
