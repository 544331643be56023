// The number of visitors per day, as a chart and as a table.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Missing } from "../ui/Missing";
import { lastDays } from "./days";
import { VisitsChart } from "./VisitsChart";
import { VisitsTable } from "./VisitsTable";

const VisitsQuery = graphql(`
  query Visits($first: Int!) {
    visits(first: $first) {
      day
      uniqueVisitors
    }
  }
`);

export function Visits({ days }: { days: number }) {
  const { data, ...reading } = useRetryingQuery({
    query: VisitsQuery,
    variables: { first: days },
    requestPolicy: "cache-and-network",
  });
  if (!data?.visits) return <Missing what="visits" reading={reading} />;
  const shown = lastDays(days, data.visits);
  return (
    <div className="visits">
      <VisitsChart days={shown} />
      <details>
        <summary>Show as a table</summary>
        <VisitsTable days={shown} />
      </details>
    </div>
  );
}
