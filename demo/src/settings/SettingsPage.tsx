// The settings page: the viewer's profile and sessions.

import { useRetryingQuery } from "../api/useRetryingQuery";
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
  const { data, error, refetch } = useRetryingQuery({ query: Settings, requestPolicy: "cache-and-network" });
  const viewer = data?.viewer;
  return (
    <div className="page">
      <div className="column">
        <PageHeading title="Settings">Settings</PageHeading>
        {error && <Failure error={error} onRetry={refetch} />}
        {!viewer && !error && <Loading what="settings" />}
        {viewer && (
          <>
            <section className="card">
              <h2>Profile</h2>
              <ProfileForm user={viewer.user} />
            </section>
            <section className="card">
              <h2>Sessions</h2>
              <Sessions sessions={viewer.sessions} onChanged={refetch} />
            </section>
          </>
        )}
      </div>
    </div>
  );
}
