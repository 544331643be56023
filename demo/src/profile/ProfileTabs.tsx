// The tabs of a profile, each with its count.

import { type FragmentType, graphql, readFragment } from "../generated";
import { paths, type ProfileTab } from "../navigation/routes";
import { Tabs } from "../navigation/Tabs";

export const CountsUser = graphql(`
  fragment Counts on User {
    id
    postCount
    followerCount
    followingCount
    mutuals(first: 1) {
      totalCount
    }
    knownFollowers(first: 1) {
      totalCount
    }
  }
`);

interface ProfileTabsProps {
  username: string;
  isViewer: boolean;
  tab: ProfileTab;
  user: FragmentType<typeof CountsUser>;
}

export function ProfileTabs({ username, isViewer, tab, user }: ProfileTabsProps) {
  const counts = readFragment(CountsUser, user);
  const tabs: { name: ProfileTab; label: string; one?: string; count: number | null | undefined }[] = [
    { name: "posts", label: "Posts", one: "Post", count: counts.postCount },
    { name: "followers", label: "Followers", one: "Follower", count: counts.followerCount },
    { name: "following", label: "Following", count: counts.followingCount },
    { name: "mutuals", label: "Mutuals", one: "Mutual", count: counts.mutuals?.totalCount },
    // On the viewer's own profile these would be the mutuals.
    ...(isViewer ? [] : [{ name: "known", label: "You know", count: counts.knownFollowers?.totalCount } as const]),
  ];
  const shown = tabs.map(({ name, count = null, ...labels }) => ({
    ...labels,
    count,
    to: paths.profile(username, name),
    isCurrent: name === tab,
  }));
  return <Tabs label="Profile" tabs={shown} />;
}
