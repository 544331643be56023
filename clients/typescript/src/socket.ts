import { createClient } from "graphql-ws";
import { createBackoff } from "./backoff.js";
import { eventOf, type Operation, type Result } from "./document.js";
import { listen } from "./environment.js";
import { type FanfoldError, type GraphQLFailure, rejection } from "./error.js";
import { authorization } from "./http.js";
import type { Session } from "./session.js";
import { createStore, type Store } from "./store.js";

/**
 * The connection over which events arrive: `idle` without subscriptions; `lost` while the client tries to reconnect;
 * `signed-out` if no user is signed in.
 */
export type Connection = "idle" | "connecting" | "live" | "lost" | "signed-out";

/** Receives the events of a subscription. */
export interface Sink<Data = unknown> {
  next(result: Result<Data>): void;
  /** Called when the server has rejected the subscription for good: nothing follows. */
  error(error: FanfoldError): void;
  /** Called each time events begin to arrive: some may have been missed if they have no cursor to resume after. */
  connected?(): void;
}

export interface Socket {
  readonly state: Store<Connection>;
  /** Subscribes until the returned function is called, or the server rejects it for good. */
  subscribe<Data>(operation: Operation, sink: Sink<Data>): () => void;
  /** Withholds events while a task runs, and delivers them afterwards. */
  hold<Value>(task: () => Promise<Value>): Promise<Value>;
  /** Reports that a request has not reached the server. A connection over which messages arrive stays live. */
  lose(): void;
  /** Stops listening to the session. The connection closes with its last subscription. */
  close(): void;
}

export interface SocketOptions {
  /** The URL of the API, of the protocol HTTP. */
  readonly url: string;
  readonly session: Session;
  /** The interval of pings, in milliseconds. After 1.5 intervals without a message, the connection is lost. */
  readonly keepAlive: number;
  readonly webSocket?: unknown;
}

/** The close code for a token that was rejected, or a session that has ended. */
const FORBIDDEN = 4403;
/** Close codes for messages that would be rejected again: too large, or not of the protocol. */
const FATAL = [1009, 4400, 4401, 4406, 4409, 4429];
/** The time for which the socket stays open without subscriptions, in milliseconds. */
const LINGER = 1_000;
/** The time in which the server begins to send events after the connection is acknowledged, in milliseconds. */
const SETTLE = 1_000;

/** Opens a WebSocket with the first subscription. */
export function openSocket({ url, session, keepAlive, webSocket }: SocketOptions): Socket {
  let used: string | null = null;
  let active = 0;
  let link: "connecting" | "live" | "lost" = "connecting";
  const state = createStore<Connection>("idle");
  const update = () => {
    const shown = active || link === "lost" ? link : "idle";
    state.set(session.signedIn.get() ? shown : "signed-out");
  };
  const show = (next: typeof link) => {
    link = next;
    update();
  };
  update();

  // A connection may stay open although nothing arrives any more. After a pause of the page, the first timer may run before
  // messages that have arrived, the second does not.
  let silence: ReturnType<typeof setTimeout> | undefined;
  const awaitMessage = () => {
    clearTimeout(silence);
    silence = setTimeout(() => (silence = setTimeout(client.terminate, keepAlive / 2)), keepAlive);
  };
  const client = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: webSocket,
    // Each subscription reconnects itself, since it knows where to resume.
    retryAttempts: 0,
    lazyCloseTimeout: LINGER,
    keepAlive,
    connectionParams: async () => {
      used = await session.token();
      return authorization(used);
    },
    on: {
      connecting: awaitMessage,
      message: awaitMessage,
      connected: () => show("live"),
      closed: () => {
        clearTimeout(silence);
        show(active ? "lost" : "connecting");
      },
    },
  });
  // The socket belongs to the token with which it was opened.
  const stopSession = session.onChange(() => {
    client.terminate();
    update();
  });
  const stopOffline = listen("offline", client.terminate);

  let holds = 0;
  const held: (() => void)[] = [];
  // Each event has a microtask of its own: a sink that fails loses no others.
  const deliver = (event: () => void) => void (holds > 0 ? held.push(event) : queueMicrotask(event));

  return {
    state,
    subscribe<Data>(operation: Operation, sink: Sink<Data>) {
      const variables: Record<string, unknown> = { ...operation.variables };
      const backoff = createBackoff();
      /** The number of the current attempt; 0 after the end. */
      let current = 1;
      let stopRunning = () => {};
      let settling: ReturnType<typeof setTimeout> | undefined;

      const settle = () => {
        clearTimeout(settling);
        if (state.get() === "live") settling = setTimeout(() => current && sink.connected?.(), SETTLE);
      };
      const stopState = state.subscribe(settle);
      const end = () => {
        if (!current) return;
        current = 0;
        active -= 1;
        backoff.cancel();
        stopState();
        stopRunning();
        update();
      };
      const fail = (error: FanfoldError) => {
        end();
        deliver(() => sink.error(error));
      };

      const run = () => {
        const own = ++current;
        const again = (cause?: unknown) => {
          if (own !== current) return;
          current += 1;
          // After a lost connection, the library counts the subscription until it is stopped.
          stopRunning();
          void resume(cause, current);
        };
        const payload = { ...operation, query: operation.query ?? "", variables };
        stopRunning = client.subscribe<Data>(payload, {
          next: ({ data, errors }) => {
            if (own !== current) return;
            // An error without data ends the subscription.
            if (!data && errors) return again(errors);
            backoff.succeed();
            variables["after"] = eventOf(data)?.cursor ?? variables["after"];
            deliver(() => current && sink.next({ data, errors }));
          },
          error: again,
          complete: again,
        });
        settle();
      };

      /** Subscribes again, unless the cause of the end is final. */
      const resume = async (cause: unknown, own: number) => {
        const { code, reason } = (cause ?? {}) as Partial<CloseEvent>;
        let failures = Array.isArray(cause) ? (cause as GraphQLFailure[]) : [];
        const meaning = code === FORBIDDEN ? "UNAUTHENTICATED" : FATAL.includes(code!) && "BAD_REQUEST";
        if (meaning) failures = [{ message: reason!, extensions: { code: meaning } }];
        const error = rejection(failures);
        const isRejected = error.code === "UNAUTHENTICATED";
        // If the application cannot issue another token now, it may later.
        const canRetry = isRejected ? await session.reject(used).catch(() => true) : error.isTransient;
        if (own !== current) return;
        if (canRetry) backoff.retry(run, error.retryAfterSeconds);
        else fail(error);
      };

      active += 1;
      run();
      update();
      return end;
    },
    async hold(task) {
      holds += 1;
      try {
        return await task();
      } finally {
        holds -= 1;
        // Another task may withhold them further.
        held.splice(0).forEach(deliver);
      }
    },
    lose() {
      if (link !== "live") show("lost");
    },
    close() {
      stopSession();
      stopOffline();
    },
  };
}
