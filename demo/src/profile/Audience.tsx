// Who looked at the viewer's profile, by region. Who it was is not told.

import { useState } from "react";
import { useReading } from "../api/useReading";
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
  const { data, fetching, error, again } = useReading({
    query: AudienceQuery,
    variables: { days },
    requestPolicy: "cache-and-network",
  });
  if (error) return <Failure error={error} onRetry={again} />;
  if (fetching && !data) return <Loading what="visitors" />;
  const audience = data?.viewer?.audience;
  if (!audience) return <p className="quiet-text">This server does not keep it.</p>;
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
