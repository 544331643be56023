// The number of visitors per day, as a chart and as a table.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";
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
  const { data, error, refetch } = useRetryingQuery({
    query: VisitsQuery,
    variables: { first: days },
    requestPolicy: "cache-and-network",
  });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="visits" />;
  if (!data.visits) return <p className="quiet-text">Temporarily unavailable.</p>;
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
