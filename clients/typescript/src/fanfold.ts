import { type Document, eventOf, type Operation, operationOf, type Result } from "./document.js";
import { type FanfoldError, rejection, unreachable } from "./error.js";
import { execute, send } from "./http.js";
import { type RelationEvent, type RelationSource, watchRelations } from "./relations.js";
import { type Session, sessionOf } from "./session.js";
import { type Connection, openSocket, type Sink } from "./socket.js";
import type { Store } from "./store.js";
import { type CursorEvent, type EventSink, type TimelineSource, type Watch, watchTimeline } from "./timeline.js";
import { memoryToken, type TokenStore } from "./token.js";

/** The options of {@link createFanfold}. */
export interface FanfoldOptions {
  /** The URL of the API, such as `https://social.example/graphql`; on a page of the same site also `/graphql`. */
  readonly url: string;
  /** Where the token of a session is kept, such as `localToken`; or `applicationToken`. By default, in memory. */
  readonly token?: TokenStore | Session;
  /** The interval of pings, in milliseconds; after 1.5 intervals of silence, the client reconnects. Default 10,000. */
  readonly keepAlive?: number;
  /** The time after which a request without a response has failed, in milliseconds. Default 30,000. */
  readonly timeout?: number;
  /** Turns documents into text: `print` of graphql. Only needed for documents that are syntax trees without their text. */
  readonly print?: (document: never) => string;
  /**
   * The WebSocket class, where there is no global one. That of `ws` ends the program when a socket is closed while it
   * connects: pass a subclass whose sockets have a listener for `error`.
   */
  readonly webSocket?: unknown;
}

/** An error of a payload, to show to the user. */
export interface UserError {
  /** One of the schema's `UserErrorCode`, which may grow. */
  readonly code: string;
  /** The violated rule, as a sentence. */
  readonly message: string;
  readonly field?: readonly string[] | null | undefined;
  readonly limit?: number | null | undefined;
  readonly retryAfterSeconds?: number | null | undefined;
}

/** The data of a response, in which failed fields are null, and their error. */
export interface Response<Data> {
  readonly data: Data;
  readonly error?: FanfoldError | undefined;
}

/** A live timeline without a cache: see {@link TimelineSource}. */
export interface TimelineEvents<E extends CursorEvent> extends Omit<TimelineSource<E>, "subscribe"> {
  /** The subscription, with the variable `$after: String`. */
  readonly events: Document<{ timeline: E }, { after?: string | null }>;
}

/** Live relations without a cache: see {@link RelationSource}. */
export interface RelationEvents<E extends RelationEvent> extends Omit<RelationSource<E>, "subscribe"> {
  readonly events: Document<{ relationChanged: E }, Record<string, never>>;
}

/** A client of one server. */
export interface Fanfold {
  /**
   * Executes a query or mutation. Fails with a {@link FanfoldError} if there is no data. If the server rejects the token
   * of another application, the client gets a new one and tries once more.
   */
  request<Data, Variables>(
    document: Document<Data, Variables>,
    ...[variables]: Record<string, never> extends Variables ? [variables?: Variables] : [variables: Variables]
  ): Promise<Response<Data>>;
  /** Signs in with a password. Returns the errors to show to the user; empty on success. Fails as `request` does. */
  signIn(username: string, password: string, label?: string): Promise<readonly UserError[]>;
  /** Discards the token at once, and ends the session on the server, even if the page is closed meanwhile. */
  signOut(): void;
  /** Replaces the token, with that of a payload of `register`, `login` or `changePassword`. */
  setToken(token: string | null): void;
  /** True if there is a token that the server has not rejected. */
  readonly signedIn: Store<boolean>;
  readonly state: Store<Connection>;
  /** Keeps a home timeline up to date, through lost connections, restarted servers and new sessions. */
  timeline<E extends CursorEvent>(source: TimelineEvents<E>): Watch;
  /** Keeps relations up to date, until the returned function is called. */
  relations<E extends RelationEvent>(source: RelationEvents<E>): () => void;
  /** Ends all subscriptions, and closes the connection. */
  close(): void;

  // For bindings:

  /** The URL of the API. */
  readonly url: string;

  /** Executes an operation, and returns the response as it is. */
  execute<Data>(operation: Operation): Promise<Result<Data>>;
  /**
   * Subscribes, and reconnects until the returned function is called. Events with a `cursor` are resumed after the last
   * one, by the variable `after`: none is missed, none arrives twice.
   */
  subscribe<Data>(operation: Operation, sink: Sink<Data>): () => void;
  /** Withholds events while a page is read, and delivers them afterwards: they may be about its entries. */
  hold<Value>(task: () => Promise<Value>): Promise<Value>;
  /** As `timeline`, with a subscription through a cache. */
  watchTimeline<E extends CursorEvent>(source: TimelineSource<E>): Watch;
  /** As `relations`, with a subscription through a cache. */
  watchRelations<E extends RelationEvent>(source: RelationSource<E>): () => void;
}

const SIGN_IN =
  "mutation($input:LoginInput!){login(input:$input){token userErrors{code message field limit retryAfterSeconds}}}";
const SIGN_OUT = "mutation{logout{userErrors{code}}}";

type SignInData = { login: { token: string | null; userErrors: UserError[] } | null };

/** Returns the data of a result, and the error of fields that have failed. */
function responseOf<Data>({ data, errors }: Result<Data>): Response<Data> {
  const error = errors && rejection(errors);
  if (!data) throw unreachable(error);
  return { data, error };
}

/** Creates a client. It connects with the first subscription. */
export function createFanfold(options: FanfoldOptions): Fanfold {
  const { token = memoryToken(), keepAlive = 10_000, timeout = 30_000, print, webSocket } = options;
  const url = new URL(options.url, globalThis.location?.href).href;
  const session = "reject" in token ? token : sessionOf(token);
  const socket = openSocket({ url, session, keepAlive, webSocket });
  const transport = { url, session, timeout };
  /** What runs until the client is closed. */
  const running = new Set<() => void>();
  const track = (stop: () => void) => {
    const own = () => {
      running.delete(own);
      stop();
    };
    running.add(own);
    return own;
  };

  /** Subscribes to events. */
  const eventsOf = <E, Variables extends object>(
    document: Document<{ [field: string]: E }, Variables>,
    variables: Variables,
    sink: EventSink<E>,
  ) =>
    fanfold.subscribe<Record<string, E>>(operationOf(document, variables, print), {
      ...sink,
      next: ({ data }) => data && sink.next(eventOf(data)),
    });

  const fanfold: Fanfold = {
    url,
    async request(document, ...[variables]) {
      return responseOf(await fanfold.execute(operationOf(document, variables as object, print)));
    },
    async signIn(username, password, label = "") {
      const variables = { input: { username, password, label } };
      const result = await send<SignInData>({ query: SIGN_IN, variables }, null, transport);
      const { login } = responseOf(result).data;
      if (login?.token) session.set(login.token);
      return login?.userErrors ?? [];
    },
    signOut() {
      const ended = session.token();
      session.set(null);
      // If this fails, the session lasts until it expires, but its token is discarded here.
      ended
        .then<unknown>((token) => token !== null && send({ query: SIGN_OUT }, token, transport, { keepalive: true }))
        .catch(() => {});
    },
    setToken: session.set,
    signedIn: session.signedIn,
    state: socket.state,
    execute: (operation) => execute(operation, transport),
    subscribe: (operation, sink) => track(socket.subscribe(operation, sink)),
    hold: socket.hold,
    watchTimeline(source) {
      const watch = watchTimeline(source, session, socket.lose);
      return { ...watch, stop: track(watch.stop) };
    },
    watchRelations: (source) => track(watchRelations(source, session, socket.hold)),
    timeline: ({ events, ...source }) =>
      fanfold.watchTimeline({
        ...source,
        subscribe: (after, sink) => eventsOf(events, { after: after! }, sink),
      }),
    relations: ({ events, ...source }) =>
      fanfold.watchRelations({ ...source, subscribe: (sink) => eventsOf(events, {}, sink) }),
    close() {
      for (const stop of running) stop();
      socket.close();
    },
  };
  return fanfold;
}
