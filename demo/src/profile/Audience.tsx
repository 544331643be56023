// The visitors of the viewer's profile, by region. The server does not reveal who they are.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql, readFragment } from "../generated";
import { type Bar, Bars } from "../ui/Bars";
import { Choice } from "../ui/Choice";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";
import { counted } from "../ui/numbers";
import { regionName, RegionParts } from "./regionName";

const AudienceQuery = graphql(`
  query Audience($days: Int!) {
    viewer {
      audience(days: $days) {
        uniqueVisitors
        regions(first: 8) {
          visitors
          share
          region {
            ...RegionParts
          }
        }
      }
    }
  }
`);

const SPANS = [1, 7, 30];

export function Audience() {
  const [days, setDays] = useState(7);
  const { data, fetching, error, refetch } = useRetryingQuery({
    query: AudienceQuery,
    variables: { days },
    requestPolicy: "cache-and-network",
  });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (fetching && !data) return <Loading what="visitors" />;
  const audience = data?.viewer?.audience;
  if (!audience) return <p className="quiet-text">This server does not record profile views.</p>;
  const bars: Bar[] = audience.regions.map(({ region, visitors, share }) => ({
    name: regionName(readFragment(RegionParts, region)),
    count: visitors,
    share,
  }));
  return (
    <div className="audience">
      <Choice label="Days" options={SPANS} chosen={days} onChoose={setDays} />
      <p className="figure" role="status">
        {counted(audience.uniqueVisitors, "visitor")}
      </p>
      {bars.length > 0 && <Bars bars={bars} unit="visitors" />}
    </div>
  );
}
