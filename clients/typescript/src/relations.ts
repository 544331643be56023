import { createBackoff } from "./backoff.ts";
import { type FanfoldError, unreachable } from "./error.ts";
import type { Session } from "./session.ts";

/** Maximum number of ids in a request. */
const MOST_IDS = 100;

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
}

/** Keeps relations up to date, in each session that begins while it runs, until the returned function is called. */
export function watchRelations<E extends RelationEvent>(source: RelationSource<E>, session: Session): () => void {
  const backoff = createBackoff();
  let stopEvents = () => {};
  let turn = 0;
  const pause = () => {
    turn += 1;
    backoff.cancel();
    stopEvents();
    stopEvents = () => {};
  };
  const read = () => {
    const own = turn;
    backoff.cancel();
    source.read().then(backoff.succeed, (error: unknown) => {
      const { isTransient, retryAfterSeconds } = unreachable(error);
      if (own === turn && isTransient) backoff.retry(read, retryAfterSeconds);
    });
  };
  const begin = () => {
    pause();
    if (!session.signedIn.get()) return;
    stopEvents = source.subscribe({
      next: (event) => (event.__typename === "RelationsReset" ? read() : source.apply?.(event)),
      connected: read,
      error: pause,
    });
  };
  const stopSession = session.onChange(begin);
  begin();
  return () => {
    stopSession();
    pause();
  };
}

/** The users shown on a page, whose relations are read again after events were missed. */
export interface Shown {
  /** Counts a user as shown until the returned function is called. */
  add(userId: string): () => void;
  /** Returns the ids of the shown users, in lists of as many as a request takes. */
  batches(): string[][];
}

export function createShown(): Shown {
  const counts = new Map<string, number>();
  return {
    add(userId) {
      counts.set(userId, (counts.get(userId) ?? 0) + 1);
      let isShown = true;
      return () => {
        const count = (counts.get(userId) ?? 0) - 1;
        if (!isShown) return;
        isShown = false;
        if (count > 0) counts.set(userId, count);
        else counts.delete(userId);
      };
    },
    batches() {
      const ids = [...counts.keys()];
      const starts = ids.flatMap((_, index) => (index % MOST_IDS === 0 ? [index] : []));
      return starts.map((start) => ids.slice(start, start + MOST_IDS));
    },
  };
}
