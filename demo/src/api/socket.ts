// Subscriptions over one WebSocket. It is opened by the first subscription, authenticates with the session's token, and
// detects an unresponsive server. It does not resubscribe: the subscriber does, since it knows where to resume.

import { createClient, type Client } from "graphql-ws";
import type { SubscriptionForwarder } from "@urql/core";
import { connection } from "../live/connection";
import { session } from "../session/session";

/** Interval of pings, and timeout of a pong, in milliseconds. */
const PING_INTERVAL = 10_000;
const PONG_TIMEOUT = 5_000;
/** The close code for an invalid or revoked token. */
const FORBIDDEN = 4403;

export function openSocket(token: string): { socket: Client; close: () => void } {
  let pongTimer: ReturnType<typeof setTimeout>;
  const socket = createClient({
    url: `${location.origin.replace(/^http/, "ws")}/graphql`,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
    keepAlive: PING_INTERVAL,
    on: {
      connected: () => connection.found(),
      ping: (isReceived) => {
        if (!isReceived) pongTimer = setTimeout(() => socket.terminate(), PONG_TIMEOUT);
      },
      pong: () => clearTimeout(pongTimer),
      closed: (event) => {
        clearTimeout(pongTimer);
        if (event instanceof CloseEvent && event.code === FORBIDDEN) session.expire();
      },
    },
  });
  // When the browser goes offline, do not wait for the timeout.
  const giveUp = () => socket.terminate();
  addEventListener("offline", giveUp);
  const close = () => {
    removeEventListener("offline", giveUp);
    void socket.dispose();
  };
  return { socket, close };
}

/** Forwards urql's subscriptions to the socket. */
export const forwardTo =
  (socket: Client): SubscriptionForwarder =>
  ({ query = "", variables }) => ({
    subscribe: (sink) => ({
      unsubscribe: socket.subscribe(
        { query, variables },
        {
          next: sink.next as (value: unknown) => void,
          // Subscriptions never complete by themselves.
          complete: () => sink.error(new Error("The server ended the subscription.")),
          // An array is a rejection by the server; anything else is a lost connection.
          error: (cause) => sink.error(Array.isArray(cause) ? cause : new Error("The connection was lost.")),
        },
      ),
    }),
  });
