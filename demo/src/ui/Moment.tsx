// A point in time: relative while it is recent, and kept up to date.

import { useSyncExternalStore } from "react";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UPDATE_INTERVAL = 10 * SECOND;

const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short" });

function inWords(instant: Date): string {
  const age = Date.now() - instant.getTime();
  if (age < MINUTE) return "just now";
  if (age < HOUR) return ago.format(-Math.floor(age / MINUTE), "minute");
  if (age < DAY) return ago.format(-Math.floor(age / HOUR), "hour");
  return date.format(instant);
}

const listeners = new Set<() => void>();
setInterval(() => listeners.forEach((listener) => listener()), UPDATE_INTERVAL);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

interface MomentProps {
  at: string;
  /** Shows the date, however recent it is. */
  isDay?: boolean;
}

export function Moment({ at, isDay = false }: MomentProps) {
  const instant = new Date(at);
  const words = useSyncExternalStore(subscribe, () => (isDay ? date.format(instant) : inWords(instant)));
  return (
    <time dateTime={at} title={exact.format(instant)}>
      {words}
    </time>
  );
}
