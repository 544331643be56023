// What one can change of oneself: the profile, and where one is signed in.

import { useReading } from "../api/useReading";
import { graphql } from "../generated";
import { PageHeading } from "../navigation/PageHeading";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";
import { ProfileForm } from "./ProfileForm";
import { Sessions } from "./Sessions";

const Settings = graphql(`
  query Settings {
    viewer {
      user {
        id
        ...ProfileForm
      }
      sessions {
        id
        ...SessionRow
      }
    }
  }
`);

export function SettingsPage() {
  const { data, error, again } = useReading({ query: Settings, requestPolicy: "cache-and-network" });
  const viewer = data?.viewer;
  return (
    <div className="page">
      <div className="column">
        <PageHeading title="Settings">Settings</PageHeading>
        {error && <Failure error={error} onRetry={again} />}
        {!viewer && !error && <Loading what="settings" />}
        {viewer && (
          <>
            <section className="card">
              <h2>Profile</h2>
              <ProfileForm user={viewer.user} />
            </section>
            <section className="card">
              <h2>Where you are signed in</h2>
              <Sessions sessions={viewer.sessions} onChanged={again} />
            </section>
          </>
        )}
      </div>
    </div>
  );
}
