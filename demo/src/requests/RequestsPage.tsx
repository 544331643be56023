// The page of requests to follow: those that wait for the viewer's answer, and those that the viewer has sent.

import { PageHeading } from "../navigation/PageHeading";
import { UserRows } from "../people/UserRows";

export function RequestsPage() {
  return (
    <div className="page">
      <div className="column">
        <PageHeading title="Follow requests">Follow requests</PageHeading>
        <section className="card">
          <h2>Requests to follow you</h2>
          <UserRows list="received" />
        </section>
        <section className="card">
          <h2>Requests that you have sent</h2>
          <UserRows list="sent" />
        </section>
      </div>
    </div>
  );
}
