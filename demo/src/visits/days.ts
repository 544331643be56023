// Days in UTC, as the server counts them.

export interface Day {
  day: string;
  /** Null for days without data. */
  uniqueVisitors: number | null;
}

const DAY = 86_400_000;

/** Returns the last `count` days up to the newest with data, oldest first, each with its number of visitors, if any. */
export function lastDays(count: number, known: readonly { day: string; uniqueVisitors: number }[]): Day[] {
  const numbers = new Map(known.map(({ day, uniqueVisitors }) => [day, uniqueVisitors]));
  const newest = known
    .map(({ day }) => day)
    .toSorted()
    .at(-1);
  const today = newest === undefined ? Date.now() : Date.parse(newest);
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(today - (count - 1 - index) * DAY).toISOString().slice(0, 10);
    return { day, uniqueVisitors: numbers.get(day) ?? null };
  });
}

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

export const dayInWords = (day: string) => short.format(new Date(day));
