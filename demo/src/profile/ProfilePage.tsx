// The profile of a user.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import type { ProfileTab } from "../navigation/routes";
import { PeopleList } from "../people/PeopleList";
import { NotFound } from "../shell/NotFound";
import { Missing } from "../ui/Missing";
import { Panel } from "../ui/Panel";
import { Audience } from "./Audience";
import { FollowerRegions } from "./FollowerRegions";
import { ProfileHeader } from "./ProfileHeader";
import { ProfilePosts } from "./ProfilePosts";
import { ProfileTabs } from "./ProfileTabs";

const Profile = graphql(`
  query Profile($username: String!) {
    user(by: { username: $username }) {
      id
      isViewer
      ...ProfileHeader
      ...ProfilePosts
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
  const { data, ...reading } = useRetryingQuery({
    query: Profile,
    variables: { username },
    requestPolicy: "cache-and-network",
  });
  if (!data) return <Missing what={`@${username}`} reading={reading} />;
  const { user } = data;
  if (!user) return <NotFound title="User not found">There is no user @{username}.</NotFound>;
  return (
    <div className="page">
      <div className="column-top">
        <ProfileHeader user={user} />
      </div>
      <aside className="beside" aria-label="Audience">
        <Panel title="Followers by region">
          <FollowerRegions user={user} reading={reading} />
        </Panel>
        {user.isViewer && (
          <Panel title="Profile visitors">
            <Audience />
          </Panel>
        )}
      </aside>
      <div className="column">
        <ProfileTabs username={username} isViewer={user.isViewer} tab={tab} user={user} />
        {tab === "posts" ? (
          <ProfilePosts key={username} user={user} />
        ) : (
          <PeopleList key={`${username} ${tab}`} username={username} list={tab} />
        )}
      </div>
    </div>
  );
}
