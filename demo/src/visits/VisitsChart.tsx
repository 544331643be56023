// A column chart of unique visitors per day.

import { formatCount } from "../ui/numbers";
import { useWidth } from "../ui/useWidth";
import { type Day, dayInWords } from "./days";

const HEIGHT = 170;
const TOP = 30;
const BOTTOM = 30;
/** The width of a column, as a fraction of a day's width. */
const FILLED = 0.62;
/** The minimum width of a day, in pixels, for a number above its column. */
const NUMBERED_FROM = 34;
/** The width of a day's name, in pixels. */
const NAME_WIDTH = 58;
/** The minimum of the scale's upper end. */
const MIN_SCALE = 4;

const FLOOR = HEIGHT - BOTTOM;

export function VisitsChart({ days }: { days: Day[] }) {
  const [width, chart] = useWidth<SVGSVGElement>();
  const most = Math.max(...days.map(({ uniqueVisitors }) => uniqueVisitors ?? 0));
  const step = width / days.length;
  const heightOf = (count: number) => (count / Math.max(most, MIN_SCALE)) * (FLOOR - TOP);
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
        `Unique visitors in the last ${days.length} days: ` +
        `${formatCount(today)} today, ${formatCount(most)} on the busiest day.`
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
