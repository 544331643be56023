// When something was, in words that are short while it is recent.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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

interface MomentProps {
  at: string;
  /** Tells the day, however recent it is. */
  isDay?: boolean;
}

export function Moment({ at, isDay = false }: MomentProps) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={exact.format(instant)}>
      {isDay ? date.format(instant) : inWords(instant)}
    </time>
  );
}
