import { createBackoff } from "./backoff.js";
import { type FanfoldError, failureOf } from "./error.js";
import type { Session } from "./session.js";

/** Something that runs while a user is signed in, and begins again in each session. */
export interface Task {
  /** Ends the current run, and begins another if a user is signed in. */
  restart(): void;
  /** Ends the current run, and begins another after a delay: see {@link createBackoff}. */
  retry(demanded?: number): void;
  stop(): void;
}

/** A run of a task. */
export interface Run {
  /** Returns the function, which does nothing once the run has ended. */
  guard<Parameters extends unknown[]>(effect: (...parameters: Parameters) => void): (...parameters: Parameters) => void;
  /** Calls the function when the run ends; at once if it has. */
  onEnd(stop: () => void): void;
  /** Ends the run with an error, unless it has ended; begins another later if the error is transient. */
  fail(cause: unknown): void;
}

/** @param report Called with the error of each run that has failed. It may stop the task. */
export function createTask(session: Session, report: (error: FanfoldError) => void, begin: (run: Run) => void): Task {
  const backoff = createBackoff();
  let stops: (() => void)[] = [];
  const pause = () => {
    backoff.cancel();
    const ended = stops;
    stops = [];
    for (const stop of ended) stop();
  };
  const retry = (demanded?: number) => {
    pause();
    backoff.retry(restart, demanded);
  };
  const restart = () => {
    pause();
    if (!session.signedIn.get()) return;
    const own = stops;
    const guard: Run["guard"] =
      (effect) =>
      (...parameters) => {
        if (own === stops) effect(...parameters);
      };
    begin({
      guard,
      onEnd: (stop) => void (own === stops ? own.push(stop) : stop()),
      fail: guard((cause: unknown) => {
        const error = failureOf(cause);
        if (error.isTransient) retry(error.retryAfterSeconds);
        else pause();
        report(error);
      }),
    });
  };
  const stopSession = session.onChange(restart);
  return {
    restart,
    retry,
    stop() {
      stopSession();
      pause();
    },
  };
}
