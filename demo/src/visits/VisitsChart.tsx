// Unique visitors per day as columns.

import { formatCount } from "../ui/numbers";
import { useWidth } from "../ui/useWidth";
import { type Day, dayInWords } from "./days";

const HEIGHT = 170;
const TOP = 30;
const BOTTOM = 30;
/** As much of a day's width is its column. */
const FILLED = 0.62;
/** A column this wide has room for its number above it. */
const NUMBERED_FROM = 34;
/** A name of a day needs so much room. */
const NAME_WIDTH = 58;
/** What the scale reaches to at least. */
const LEAST_SCALE = 4;

const FLOOR = HEIGHT - BOTTOM;

export function VisitsChart({ days }: { days: Day[] }) {
  const [width, chart] = useWidth<SVGSVGElement>();
  const most = Math.max(...days.map(({ uniqueVisitors }) => uniqueVisitors ?? 0));
  const step = width / days.length;
  const heightOf = (count: number) => (count / Math.max(most, LEAST_SCALE)) * (FLOOR - TOP);
  const today = days.at(-1)?.uniqueVisitors ?? 0;
  const isNumbered = step >= NUMBERED_FROM;
  const namedEvery = Math.ceil(NAME_WIDTH / step);
  return (
    <svg
      ref={chart}
      className="visits-chart"
      height={HEIGHT}
      role="img"
      aria-label={
        `Unique visitors of the last ${days.length} days: ` +
        `${formatCount(today)} today, ${formatCount(most)} on the best day.`
      }
    >
      <line x1="0" x2={width} y1={FLOOR} y2={FLOOR} />
      {days.map(({ day, uniqueVisitors }, index) => {
        const middle = (index + 0.5) * step;
        const height = heightOf(uniqueVisitors ?? 0);
        const isToday = index === days.length - 1;
        return (
          <g key={day} data-today={isToday}>
            {uniqueVisitors === null ? (
              <circle cx={middle} cy={FLOOR - 8} r="2.5" />
            ) : (
              <rect
                x={middle - (step * FILLED) / 2}
                y={FLOOR - height}
                width={step * FILLED}
                height={height}
                rx={Math.min(6, step / 6)}
              />
            )}
            {uniqueVisitors !== null && (isNumbered || isToday) && (
              <text className="number" x={middle} y={FLOOR - height - 9}>
                {formatCount(uniqueVisitors)}
              </text>
            )}
            {(days.length - 1 - index) % namedEvery === 0 && (
              <text x={middle} y={HEIGHT - 8}>
                {isToday ? "today" : dayInWords(day)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
