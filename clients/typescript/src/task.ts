import { createBackoff } from "./backoff.js";
import type { Session } from "./session.js";

/** Something that runs while a user is signed in, and begins again in each session. */
export interface Task {
  /** Ends the current run, and begins another if a user is signed in. */
  restart(): void;
  /** Ends the current run, and begins another after a delay: see {@link createBackoff}. */
  retry(demanded?: number): void;
  /** Makes the delays short again: a run has succeeded. */
  succeed(): void;
  /** Ends the current run. */
  pause(): void;
  stop(): void;
}

/** A run of a task. */
export interface Run {
  /** Returns the function, which does nothing once the run has ended. */
  guard<Parameters extends unknown[]>(effect: (...parameters: Parameters) => void): (...parameters: Parameters) => void;
  /** Calls the function when the run ends. */
  onEnd(stop: () => void): void;
}

export function createTask(session: Session, begin: (run: Run) => void): Task {
  const backoff = createBackoff();
  let stops: (() => void)[] = [];
  const pause = () => {
    backoff.cancel();
    const ended = stops;
    stops = [];
    for (const stop of ended) stop();
  };
  const restart = () => {
    pause();
    if (!session.signedIn.get()) return;
    const own: (() => void)[] = (stops = []);
    begin({
      guard:
        (effect) =>
        (...parameters) => {
          if (own === stops) effect(...parameters);
        },
      onEnd: (stop) => void own.push(stop),
    });
  };
  const stopSession = session.onChange(restart);
  return {
    restart,
    retry(demanded) {
      pause();
      backoff.retry(restart, demanded);
    },
    succeed: backoff.succeed,
    pause,
    stop() {
      stopSession();
      pause();
    },
  };
}
