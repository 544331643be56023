// A bar chart of shares of a whole, each bar with its name and count.

import { formatCount, formatShare } from "./numbers";

export interface Bar {
  name: string;
  count: number;
  share: number;
}

export function Bars({ bars, unit }: { bars: Bar[]; unit: string }) {
  const longest = Math.max(...bars.map(({ share }) => share));
  return (
    <ul className="bars">
      {bars.map(({ name, count, share }) => (
        <li key={name}>
          <span className="bar-name">{name}</span>
          <span className="bar-figures">
            {formatCount(count)}
            <span className="visually-hidden"> {unit},</span> <span className="bar-share">{formatShare(share)}</span>
          </span>
          <span className="bar" style={{ inlineSize: `${(100 * share) / longest}%` }} aria-hidden="true" />
        </li>
      ))}
    </ul>
  );
}
