// When something was, in words that are short while it is recent, and that change while one looks.

import { useSyncExternalStore } from "react";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** How often the words are looked at again. */
const LOOK_EVERY = 10 * SECOND;

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

const looks = new Set<() => void>();
setInterval(() => looks.forEach((look) => look()), LOOK_EVERY);

function followTime(look: () => void): () => void {
  looks.add(look);
  return () => void looks.delete(look);
}

interface MomentProps {
  at: string;
  /** Tells the day, however recent it is. */
  isDay?: boolean;
}

export function Moment({ at, isDay = false }: MomentProps) {
  const instant = new Date(at);
  const words = useSyncExternalStore(followTime, () => (isDay ? date.format(instant) : inWords(instant)));
  return (
    <time dateTime={at} title={exact.format(instant)}>
      {words}
    </time>
  );
}
