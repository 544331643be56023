// The visitors page: the visitors of the server, and of the viewer's profile.

import { useState } from "react";
import { PageHeading } from "../navigation/PageHeading";
import { Audience } from "../profile/Audience";
import { DaysChoice } from "../ui/DaysChoice";
import { Visits } from "./Visits";

const SPANS = [7, 14, 30];

export function VisitorsPage() {
  const [days, setDays] = useState(14);
  return (
    <div className="page">
      <div className="column">
        <PageHeading title="Visitors">Visitors</PageHeading>
        <section className="card">
          <div className="card-head">
            <h2>Daily visitors</h2>
            <DaysChoice options={SPANS} chosen={days} onChoose={setDays} />
          </div>
          <Visits days={days} />
        </section>
      </div>
      <div className="beside">
        <section className="card">
          <h2>Profile visitors</h2>
          <Audience />
        </section>
      </div>
    </div>
  );
}
