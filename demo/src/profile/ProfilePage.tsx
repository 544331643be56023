// Somebody's profile.

import { useReading } from "../api/useReading";
import { graphql } from "../generated";
import type { ProfileTab } from "../navigation/routes";
import { PeopleList } from "../people/PeopleList";
import { Nothing } from "../shell/Nothing";
import { Failure } from "../ui/Failure";
import { Loading } from "../ui/Loading";
import { Panel } from "../ui/Panel";
import { Audience } from "./Audience";
import { FollowerRegions } from "./FollowerRegions";
import { PostList } from "./PostList";
import { ProfileHeader } from "./ProfileHeader";
import { ProfileTabs } from "./ProfileTabs";

const Profile = graphql(`
  query Profile($username: String!) {
    user(by: { username: $username }) {
      id
      isViewer
      ...ProfileHeader
      ...Counts
      ...FollowerRegions
    }
  }
`);

interface ProfilePageProps {
  username: string;
  tab: ProfileTab;
}

export function ProfilePage({ username, tab }: ProfilePageProps) {
  const { data, error, again } = useReading({
    query: Profile,
    variables: { username },
    requestPolicy: "cache-and-network",
  });
  if (!data) return error ? <Failure error={error} onRetry={again} /> : <Loading what={`@${username}`} />;
  const { user } = data;
  if (!user) return <Nothing title="Nobody">There is nobody called @{username}.</Nothing>;
  return (
    <div className="page">
      <div className="column-top">
        <ProfileHeader user={user} />
      </div>
      <aside className="beside" aria-label="About the followers">
        <Panel title="Where followers are">
          <FollowerRegions user={user} />
        </Panel>
        {user.isViewer && (
          <Panel title="Who looked at your profile">
            <Audience />
          </Panel>
        )}
      </aside>
      <div className="column">
        <ProfileTabs username={username} isViewer={user.isViewer} tab={tab} user={user} />
        {tab === "posts" ? (
          <PostList key={username} username={username} />
        ) : (
          <PeopleList key={`${username} ${tab}`} username={username} list={tab} />
        )}
      </div>
    </div>
  );
}
