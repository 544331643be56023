// Unique visitors per day as columns.

import { formatCount } from '../ui/numbers';
import { type Day, dayInWords } from './days';

const WIDTH = 600;
const HEIGHT = 220;
const TOP = 30;
const BOTTOM = 30;
/** As much of a day's width is its column. */
const FILLED = 0.62;
/** Up to so many days each column has its number above it. */
const MOST_NUMBERED = 14;

const FLOOR = HEIGHT - BOTTOM;

export function VisitsChart({ days }: { days: Day[] }) {
  const most = Math.max(1, ...days.map(({ uniqueVisitors }) => uniqueVisitors ?? 0));
  const step = WIDTH / days.length;
  const heightOf = (count: number) => (count / most) * (FLOOR - TOP);
  const today = days.at(-1)?.uniqueVisitors ?? 0;
  const isNumbered = days.length <= MOST_NUMBERED;
  const everyOther = Math.ceil(days.length / 7);
  return (
    <svg
      className="visits-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Unique visitors of the last ${days.length} days: ${formatCount(today)} today, ${formatCount(most)} on the best day.`}
    >
      <line x1="0" x2={WIDTH} y1={FLOOR} y2={FLOOR} />
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
            {(days.length - 1 - index) % everyOther === 0 && (
              <text x={middle} y={HEIGHT - 8}>
                {isToday ? 'today' : dayInWords(day)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
