// What can go wrong between the client and the server, in words for a person.

import type { CombinedError } from "urql";

const has = (error: CombinedError, code: string) =>
  error.graphQLErrors.some(({ extensions }) => extensions.code === code);

/** Whether the session has ended. */
export const isSignedOut = (error: CombinedError) => has(error, "UNAUTHENTICATED");

/** Whether more has happened than is told one by one, so that all must be read anew. */
export const mustReadAnew = (error: CombinedError) => has(error, "RESYNC_REQUIRED");

/** Whether the same may go well a little later. */
export const isPassing = (error: CombinedError) =>
  error.networkError !== undefined || ["RATE_LIMITED", "UNAVAILABLE", "TIMEOUT"].some((code) => has(error, code));

/** What to tell. The server's own messages are sentences, and say when to come back where that helps. */
export function explain(error: CombinedError): string {
  if (error.networkError) return "The server cannot be reached.";
  return error.graphQLErrors.map(({ message }) => message).join(" ");
}
