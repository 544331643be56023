import { createClient } from "graphql-ws";
import { createBackoff } from "./backoff.ts";
import type { Operation, Result } from "./document.ts";
import { type FanfoldError, type GraphQLFailure, isUnauthenticated, rejection } from "./error.ts";
import type { Session } from "./session.ts";
import { createStore, type Store } from "./store.ts";

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
  /** Reports that the server cannot be reached. */
  lose(): void;
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

/** Returns the cursor of an event to resume after. */
function cursorOf(data: unknown): string | undefined {
  const [event] = Object.values(data ?? {}) as ({ cursor?: string } | null)[];
  return event?.cursor;
}

/** Opens a WebSocket with the first subscription. */
export function openSocket({ url, session, keepAlive, webSocket }: SocketOptions): Socket {
  let used: string | null = null;
  let active = 0;
  let link: "connecting" | "live" | "lost" = "connecting";
  const state = createStore<Connection>("idle");
  const update = () => {
    const isIdle = active === 0 && link !== "lost";
    state.set(!session.signedIn.get() ? "signed-out" : isIdle ? "idle" : link);
  };
  const show = (next: typeof link) => {
    link = next;
    update();
  };

  // A connection may stay open although nothing arrives any more.
  let silence: ReturnType<typeof setTimeout> | undefined;
  const awaitMessage = () => {
    clearTimeout(silence);
    silence = setTimeout(() => client.terminate(), keepAlive * 1.5);
  };
  const connected = new Set<() => void>();
  const client = createClient({
    url: url.replace(/^http/, "ws"),
    webSocketImpl: webSocket,
    // Each subscription reconnects itself, since it knows where to resume.
    retryAttempts: 0,
    lazyCloseTimeout: LINGER,
    keepAlive,
    connectionParams: async () => {
      used = await session.token();
      return used === null ? {} : { Authorization: `Bearer ${used}` };
    },
    on: {
      connecting: awaitMessage,
      message: awaitMessage,
      connected: () => {
        show("live");
        for (const listener of [...connected]) listener();
      },
      closed: () => {
        clearTimeout(silence);
        show(active > 0 ? "lost" : "connecting");
      },
    },
  });
  // The socket belongs to the token with which it was opened.
  const stopSession = session.onChange(() => {
    client.terminate();
    update();
  });
  const giveUp = () => client.terminate();
  globalThis.addEventListener?.("offline", giveUp);

  let holds = 0;
  let held: (() => void)[] = [];
  const deliver = (event: () => void) => void (holds > 0 ? held.push(event) : event());

  return {
    state,
    subscribe<Data>(operation: Operation, sink: Sink<Data>) {
      const variables: Record<string, unknown> = { ...operation.variables };
      const backoff = createBackoff();
      let isOpen = true;
      let stopRunning = () => {};
      let settling: ReturnType<typeof setTimeout> | undefined;
      const onConnected = () => {
        clearTimeout(settling);
        settling = setTimeout(() => sink.connected?.(), SETTLE);
      };

      const end = () => {
        if (!isOpen) return;
        isOpen = false;
        active -= 1;
        backoff.cancel();
        clearTimeout(settling);
        connected.delete(onConnected);
        stopRunning();
        update();
      };
      const fail = (failures: readonly GraphQLFailure[]) => {
        end();
        deliver(() => sink.error(rejection(failures)));
      };

      const run = () => {
        let isRunning = true;
        const again = (cause: unknown) => {
          if (!isRunning || !isOpen) return;
          isRunning = false;
          clearTimeout(settling);
          void resume(cause);
        };
        stopRunning = client.subscribe<Data>(
          { ...operation, query: operation.query ?? "", variables },
          {
            next: ({ data, errors }) => {
              if (!isRunning || !isOpen) return;
              // An error without data ends the subscription.
              if (!data && errors) return again(errors);
              backoff.succeed();
              const cursor = cursorOf(data);
              if (cursor !== undefined) variables["after"] = cursor;
              deliver(() => isOpen && sink.next({ data, ...(errors && { errors }) }));
            },
            error: again,
            complete: () => again(undefined),
          },
        );
        if (link === "live") onConnected();
      };

      /** Subscribes again after an end, unless it is final. */
      const resume = async (cause: unknown) => {
        const failures = Array.isArray(cause) ? (cause as GraphQLFailure[]) : [];
        const { code, reason } = (cause ?? {}) as Partial<CloseEvent>;
        if (code !== undefined && FATAL.includes(code)) {
          const message = `The server has closed the connection: ${reason || code}`;
          return fail([{ message, extensions: { code: "BAD_REQUEST" } }]);
        }
        if (code === FORBIDDEN || isUnauthenticated(failures)) {
          const message = reason || failures[0]?.message || "Sign in first.";
          // If the application cannot issue a token now, it may later.
          const hasToken = await session.reject(used).catch(() => true);
          if (!hasToken && isOpen) return fail([{ message, extensions: { code: "UNAUTHENTICATED" } }]);
        } else if (failures.length > 0 && !rejection(failures).isTransient) {
          return fail(failures);
        }
        if (isOpen) backoff.retry(run, rejection(failures).retryAfterSeconds);
      };

      active += 1;
      connected.add(onConnected);
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
        const due = holds === 0 ? held : [];
        if (holds === 0) held = [];
        for (const event of due) event();
      }
    },
    lose: () => show("lost"),
    close() {
      stopSession();
      globalThis.removeEventListener?.("offline", giveUp);
      clearTimeout(silence);
      void client.dispose();
    },
  };
}
