// The settings page: the viewer's profile, muted users and sessions.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { PageHeading } from "../navigation/PageHeading";
import { Missing } from "../ui/Missing";
import { MutedUsers } from "./MutedUsers";
import { ProfileForm } from "./ProfileForm";
import { Sessions } from "./Sessions";

const Settings = graphql(`
  query Settings {
    viewer {
      id
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
  const { data, ...reading } = useRetryingQuery({ query: Settings, requestPolicy: "cache-and-network" });
  const viewer = data?.viewer;
  return (
    <div className="page">
      <div className="column">
        <PageHeading title="Settings">Settings</PageHeading>
        {!viewer && <Missing what="settings" reading={reading} />}
        {viewer && (
          <>
            <section className="card">
              <h2>Profile</h2>
              <ProfileForm user={viewer.user} />
            </section>
            <section className="card">
              <h2>Muted users</h2>
              <MutedUsers />
            </section>
            <section className="card">
              <h2>Sessions</h2>
              {viewer.sessions ? (
                <Sessions sessions={viewer.sessions} onChanged={reading.refetch} />
              ) : (
                <Missing what="sessions" reading={reading} />
              )}
            </section>
          </>
        )}
      </div>
    </div>
  );
}
