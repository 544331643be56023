// Who comes: to this server, and to one's own profile.

import { useState } from "react";
import { PageHeading } from "../navigation/PageHeading";
import { Audience } from "../profile/Audience";
import { Choice } from "../ui/Choice";
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
            <h2>Who came, day by day</h2>
            <Choice label="Days" options={SPANS} chosen={days} onChoose={setDays} />
          </div>
          <Visits days={days} />
        </section>
      </div>
      <div className="beside">
        <section className="card">
          <h2>Who looked at your profile</h2>
          <Audience />
        </section>
      </div>
    </div>
  );
}
