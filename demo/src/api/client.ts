// The GraphQL client of a session, and the one of nobody, for signing in.

import { Client, fetchExchange, mapExchange, subscriptionExchange } from "urql";
import { session } from "../session/session";
import { cache } from "./cache";
import { isSignedOut } from "./failures";
import { forwardTo, openSocket } from "./socket";

const common = { url: "/graphql", preferGetMethod: false } as const;

const noticeSignOut = mapExchange({
  onError: (error) => {
    if (isSignedOut(error)) session.expire();
  },
});

/** A client of whoever has this token, and how to be done with it. */
export function openClient(token: string): { client: Client; close: () => void } {
  const { socket, close } = openSocket(token);
  const client = new Client({
    ...common,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [
      noticeSignOut,
      cache(),
      fetchExchange,
      subscriptionExchange({ forwardSubscription: forwardTo(socket) }),
    ],
  });
  return { client, close };
}

/** A client of nobody. */
export const openAnonymousClient = () => new Client({ ...common, exchanges: [fetchExchange] });
