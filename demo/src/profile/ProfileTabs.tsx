// The tabs of a profile, each with its count.

import { type FragmentType, graphql, readFragment } from "../generated";
import { paths, type ProfileTab } from "../navigation/routes";
import { Tabs } from "../navigation/Tabs";

export const CountsUser = graphql(`
  fragment Counts on User {
    id
    posts(first: 1) {
      totalCount
    }
    followers(first: 1) {
      totalCount
    }
    following(first: 1) {
      totalCount
    }
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
  const tabs: { name: ProfileTab; label: string; one?: string; list: { totalCount: number | null } | null }[] = [
    { name: "posts", label: "Posts", one: "Post", list: counts.posts },
    { name: "followers", label: "Followers", one: "Follower", list: counts.followers },
    { name: "following", label: "Following", list: counts.following },
    { name: "mutuals", label: "Mutuals", one: "Mutual", list: counts.mutuals },
    // On the viewer's own profile these would be the mutuals.
    ...(isViewer ? [] : [{ name: "known", label: "You know", list: counts.knownFollowers } as const]),
  ];
  const shown = tabs.map(({ name, list, ...labels }) => ({
    ...labels,
    count: list?.totalCount ?? null,
    to: paths.profile(username, name),
    isCurrent: name === tab,
  }));
  return <Tabs label="Profile" tabs={shown} />;
}
