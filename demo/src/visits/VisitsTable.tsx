// The numbers of the chart, newest first.

import { formatCount } from "../ui/numbers";
import { type Day, dayInWords } from "./days";

export function VisitsTable({ days }: { days: Day[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Day (UTC)</th>
          <th scope="col">Unique visitors</th>
        </tr>
      </thead>
      <tbody>
        {days.toReversed().map(({ day, uniqueVisitors }) => (
          <tr key={day}>
            <th scope="row">
              <time dateTime={day}>{dayInWords(day)}</time>
            </th>
            <td>{uniqueVisitors === null ? "no data" : formatCount(uniqueVisitors)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
