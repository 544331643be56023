// Classification of errors between the client and the server, and messages to show to the user.

import type { CombinedError } from "urql";

const has = (error: CombinedError, code: string) =>
  error.graphQLErrors.some(({ extensions }) => extensions.code === code);

/** True if the session has ended. */
export const isSignedOut = (error: CombinedError) => has(error, "UNAUTHENTICATED");

/** True if too many events have occurred since the cursor, so that the timeline must be refetched. */
export const isResyncRequired = (error: CombinedError) => has(error, "RESYNC_REQUIRED");

/** True if a retry may succeed. */
export const isTransient = (error: CombinedError) =>
  error.networkError !== undefined || ["RATE_LIMITED", "UNAVAILABLE", "TIMEOUT"].some((code) => has(error, code));

/** Returns the message to show. The server's messages are sentences, and state when to retry where that helps. */
export function explain(error: CombinedError): string {
  if (error.networkError) return "The server cannot be reached.";
  return error.graphQLErrors.map(({ message }) => message).join(" ");
}
