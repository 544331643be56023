// Errors between the client and the server.

import { errorOf } from "@fanfold/client/urql";

/** Returns the message to show. The server's messages are sentences, and state when to retry where that helps. */
export const explain = (error: Error): string => errorOf(error).message;
