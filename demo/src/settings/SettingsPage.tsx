// The settings page: the viewer's profile and privacy, muted and blocked users, and sessions.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { PageHeading } from "../navigation/PageHeading";
import { UserRows } from "../people/UserRows";
import { Missing } from "../ui/Missing";
import { PrivacySetting } from "./PrivacySetting";
import { ProfileForm } from "./ProfileForm";
import { Sessions } from "./Sessions";

const Settings = graphql(`
  query Settings {
    viewer {
      id
      user {
        id
        ...ProfileForm
        ...PrivacySetting
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
              <h2>Privacy</h2>
              <PrivacySetting user={viewer.user} />
            </section>
            <section className="card">
              <h2>Muted users</h2>
              <UserRows list="muted" />
            </section>
            <section className="card">
              <h2>Blocked users</h2>
              <UserRows list="blocked" />
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
