import type { FanfoldError } from "./error.js";
import type { Session } from "./session.js";
import { createTask } from "./task.js";

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
  read(): Promise<string | null | undefined>;
  /** Subscribes to the events after a cursor, until the returned function is called. */
  subscribe(after: string | null | undefined, sink: EventSink<E>): () => void;
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

/**
 * Keeps a timeline up to date, in each session that begins while it runs.
 *
 * @param lose Called when a read has not reached the server.
 */
export function watchTimeline<E extends CursorEvent>(
  source: TimelineSource<E>,
  session: Session,
  lose: () => void,
): Watch {
  const report = (error?: FanfoldError) => {
    if (error?.failures.length === 0) lose();
    source.report?.(error);
  };
  const task = createTask(session, report, ({ guard, onEnd, fail }) => {
    const follow = (after: string | null | undefined) => {
      const next = (event: E) => (event.__typename === "TimelineReset" ? task.restart() : source.apply(event));
      const error = (error: FanfoldError) => (error.code === "RESYNC_REQUIRED" ? task.retry() : fail(error));
      onEnd(source.subscribe(after, { next: guard(next), error: guard(error) }));
      guard(report)();
    };
    source.read().then(guard(follow), fail);
  });
  task.restart();
  return { refresh: task.restart, stop: task.stop };
}
