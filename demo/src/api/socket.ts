// Subscriptions over one WebSocket. It is opened when something is watched, says who is signed in, and notices when the
// server has gone silent. What was lost is not begun again here: whoever watches knows from where to go on.

import { createClient, type Client } from "graphql-ws";
import type { SubscriptionForwarder } from "@urql/core";
import { connection } from "../live/connection";
import { session } from "../session/session";

/** How often the server is asked whether it is there, and how long it may take to say so. */
const PING_INTERVAL = 10_000;
const PONG_WITHIN = 5_000;
/** What the server closes a socket with whose token is not valid, or not any more. */
const FORBIDDEN = 4403;

export function openSocket(token: string): { socket: Client; close: () => void } {
  let silence: ReturnType<typeof setTimeout>;
  const socket = createClient({
    url: `${location.origin.replace(/^http/, "ws")}/graphql`,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
    keepAlive: PING_INTERVAL,
    on: {
      connected: () => connection.found(),
      ping: (isReceived) => {
        if (!isReceived) silence = setTimeout(() => socket.terminate(), PONG_WITHIN);
      },
      pong: () => clearTimeout(silence),
      closed: (event) => {
        clearTimeout(silence);
        if (event instanceof CloseEvent && event.code === FORBIDDEN) session.expire();
      },
    },
  });
  // Whoever is offline need not wait for the silence to be noticed.
  const giveUp = () => socket.terminate();
  addEventListener("offline", giveUp);
  const close = () => {
    removeEventListener("offline", giveUp);
    void socket.dispose();
  };
  return { socket, close };
}

/** Hands subscriptions of urql to the socket. */
export const forwardTo =
  (socket: Client): SubscriptionForwarder =>
  ({ query = "", variables }) => ({
    subscribe: (sink) => ({
      unsubscribe: socket.subscribe(
        { query, variables },
        {
          next: sink.next as (value: unknown) => void,
          // What is watched has no end of its own.
          complete: () => sink.error(new Error("The server has ended it.")),
          // A list is what the server has refused; anything else is a connection that was lost.
          error: (cause) => sink.error(Array.isArray(cause) ? cause : new Error("The connection was lost.")),
        },
      ),
    }),
  });
