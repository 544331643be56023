import { createBackoff } from "./backoff.ts";
import { type FanfoldError, unreachable } from "./error.ts";
import type { Session } from "./session.ts";

/** An event of the home timeline. Select `__typename` and `cursor` of each. */
export interface CursorEvent {
  readonly __typename?: string | undefined;
  readonly cursor: string;
}

/** Receives the events of a timeline. */
export interface EventSink<E> {
  next(event: E): void;
  error(error: FanfoldError): void;
}

/** Where a live timeline reads, and what it does with the events. */
export interface TimelineSource<E extends CursorEvent> {
  /**
   * Reads the timeline from its top, and returns the `liveCursor` of the page. Called at the beginning, and again when
   * the timeline has changed otherwise than by events. No events arrive meanwhile.
   */
  read(): Promise<string | null>;
  /** Subscribes to the events after a cursor, until the returned function is called. */
  subscribe(after: string | null, sink: EventSink<E>): () => void;
  /** Applies an event. Each arrives once, in order; kinds that it does not know are to be ignored. */
  apply(event: E): void;
  /** Called when reading has failed, with the error, and when it has succeeded. If the error is transient, it is retried. */
  report?(error: FanfoldError | undefined): void;
}

/** A timeline that is kept up to date. */
export interface Watch {
  /** Reads the timeline again. */
  refresh(): void;
  stop(): void;
}

/** Keeps a timeline up to date, in each session that begins while it runs. */
export function watchTimeline<E extends CursorEvent>(source: TimelineSource<E>, session: Session): Watch {
  const backoff = createBackoff();
  let stopEvents = () => {};
  let turn = 0;

  const pause = () => {
    turn += 1;
    backoff.cancel();
    stopEvents();
    stopEvents = () => {};
  };
  const fail = (error: FanfoldError) => {
    pause();
    source.report?.(error);
    if (error.isTransient) backoff.retry(read, error.retryAfterSeconds);
  };
  const follow = (after: string | null) => {
    stopEvents = source.subscribe(after, {
      next(event) {
        backoff.succeed();
        if (event.__typename === "TimelineReset") read();
        else source.apply(event);
      },
      error(error) {
        if (error.code !== "RESYNC_REQUIRED") return fail(error);
        pause();
        backoff.retry(read);
      },
    });
  };
  const read = () => {
    pause();
    const own = turn;
    source.read().then(
      (cursor) => {
        if (own !== turn) return;
        source.report?.(undefined);
        follow(cursor);
      },
      (error: unknown) => {
        if (own === turn) fail(unreachable(error));
      },
    );
  };

  const begin = () => (session.signedIn.get() ? read() : pause());
  const stopSession = session.onChange(begin);
  begin();
  return {
    refresh: begin,
    stop() {
      stopSession();
      pause();
    },
  };
}
