// Formats numbers for display.

const whole = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

/** Formats a count; a dash if it could not be loaded. */
export const formatCount = (count: number | null) => (count === null ? "–" : whole.format(count));
export const formatShare = (share: number) => percent.format(share);
/** Formats a count with its noun, such as "1 post" or "2 posts". */
export const counted = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
