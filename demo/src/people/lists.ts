// The four lists of users on a profile, and their queries.

import { graphql } from "../generated";
import type { PeopleTab } from "../navigation/routes";

export const PeoplePage = graphql(`
  fragment PeoplePage on FollowConnection {
    totalCount
    nodes {
      id
      ...PersonRow
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
`);

const Followers = graphql(`
  query Followers($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      people: followers(first: 20, after: $after) {
        ...PeoplePage
      }
    }
  }
`);

const Following = graphql(`
  query Following($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      people: following(first: 20, after: $after) {
        ...PeoplePage
      }
    }
  }
`);

const Mutuals = graphql(`
  query Mutuals($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      people: mutuals(first: 20, after: $after) {
        ...PeoplePage
      }
    }
  }
`);

const KnownFollowers = graphql(`
  query KnownFollowers($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      people: knownFollowers(first: 20, after: $after) {
        ...PeoplePage
      }
    }
  }
`);

export const LISTS = {
  followers: { query: Followers, heading: "Followers", empty: "No followers yet." },
  following: { query: Following, heading: "Following", empty: "Not following anyone yet." },
  mutuals: { query: Mutuals, heading: "Mutuals", empty: "No mutuals yet." },
  known: { query: KnownFollowers, heading: "Followers you follow", empty: "No followers you follow." },
} satisfies Record<PeopleTab, object>;
