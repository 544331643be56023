import type { FanfoldError } from "./error.js";
import type { Session } from "./session.js";
import type { Socket } from "./socket.js";
import { createTask } from "./task.js";

/** An event of the subscription `relationChanged`. Select `__typename`. */
export interface RelationEvent {
  readonly __typename?: string | undefined;
}

/** Where live relations are read, and what is done with the events. */
export interface RelationSource<E extends RelationEvent> {
  /**
   * Reads the shown relations. Called each time the connection has been made, and when events were missed: they have no
   * cursor, and are not sent later.
   */
  read(): Promise<unknown>;
  /** Subscribes to the events, until the returned function is called. */
  subscribe(sink: { next(event: E): void; error(error: FanfoldError): void; connected(): void }): () => void;
  /** Applies an event, unless a cache has done so. */
  apply?(event: E): void;
  /** Called when the subscription was rejected, or reading has failed. If the error is transient, it is retried. */
  report?(error: FanfoldError): void;
}

/**
 * Keeps relations up to date, in each session that begins while it runs, until the returned function is called.
 *
 * @param hold Withholds events while a task runs: a response may be older than they are.
 */
export function watchRelations<E extends RelationEvent>(
  source: RelationSource<E>,
  session: Session,
  hold: Socket["hold"],
): () => void {
  const report = (error: FanfoldError) => source.report?.(error);
  const task = createTask(session, report, ({ guard, onEnd, fail }) => {
    // Reads take turns, so that the newest response is the last.
    let reading: Promise<unknown> = Promise.resolve();
    const read = guard(() => {
      reading = reading.then(() => hold(() => source.read())).catch(fail);
    });
    onEnd(
      source.subscribe({
        next: guard((event) => (event.__typename === "RelationsReset" ? read() : source.apply?.(event))),
        connected: read,
        error: fail,
      }),
    );
  });
  task.restart();
  return task.stop;
}
