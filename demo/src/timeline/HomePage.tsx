// The home page: the composer and the home timeline.

import { PageHeading } from "../navigation/PageHeading";
import { Panel } from "../ui/Panel";
import { Visits } from "../visits/Visits";
import { Composer } from "./Composer";
import { Timeline } from "./Timeline";

export function HomePage() {
  return (
    <div className="page">
      <div className="column-top">
        <PageHeading title="Home" className="visually-hidden">
          Home
        </PageHeading>
        <Composer title="Write a post" label="What do you want to say?" action="Publish" />
      </div>
      <aside className="beside" aria-label="About this server">
        <Panel title="Daily visitors">
          <Visits days={7} />
        </Panel>
      </aside>
      <div className="column">
        <Timeline />
      </div>
    </div>
  );
}
