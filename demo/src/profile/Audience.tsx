// The visitors of the viewer's profile, by region. The server does not reveal who they are.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql, readFragment } from "../generated";
import { Bars } from "../ui/Bars";
import { DaysChoice } from "../ui/DaysChoice";
import { Missing } from "../ui/Missing";
import { counted } from "../ui/numbers";
import { regionName, RegionParts } from "./regionName";

const AudienceQuery = graphql(`
  query Audience($days: Int!) {
    viewer {
      id
      audience(days: $days) {
        uniqueVisitors
        regions(first: 8) {
          count
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
  const { data, ...reading } = useRetryingQuery({
    query: AudienceQuery,
    variables: { days },
    requestPolicy: "cache-and-network",
  });
  const audience = data?.viewer?.audience;
  if (!audience) {
    if (reading.isLoading || reading.error) return <Missing what="visitors" reading={reading} />;
    return <p className="quiet-text">This server does not record profile views.</p>;
  }
  const bars = audience.regions?.map(({ region, count, share }) => ({
    name: regionName(readFragment(RegionParts, region)),
    count,
    share,
  }));
  return (
    <div className="audience">
      <DaysChoice options={SPANS} chosen={days} onChoose={setDays} />
      <p className="figure" role="status">
        {counted(audience.uniqueVisitors, "visitor")}
      </p>
      {!bars && <Missing what="regions" reading={reading} />}
      {bars && bars.length > 0 && <Bars bars={bars} unit="visitors" />}
    </div>
  );
}
