// The GraphQL client of a session, and the anonymous one, for signing in.

import { Client, fetchExchange, mapExchange, subscriptionExchange } from "urql";
import { session } from "../session/session";
import { cache } from "./cache";
import { isSignedOut } from "./failures";
import { keepErrors } from "./keepErrors";
import { forwardTo, openSocket } from "./socket";

const common = { url: "/graphql", preferGetMethod: false } as const;

const noticeSignOut = mapExchange({
  onError: (error) => {
    if (isSignedOut(error)) session.expire();
  },
});

/** Opens a client for the session with this token; `close` closes its socket. */
export function openClient(token: string): { client: Client; close: () => void } {
  const { socket, close } = openSocket(token);
  const client = new Client({
    ...common,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [
      noticeSignOut,
      keepErrors(),
      cache(),
      fetchExchange,
      subscriptionExchange({ forwardSubscription: forwardTo(socket) }),
    ],
  });
  return { client, close };
}

/** Opens a client without a session. */
export const openAnonymousClient = () => new Client({ ...common, exchanges: [fetchExchange] });
