// The four lists of people on a profile, and what is asked for each.

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
  followers: { query: Followers, heading: "Followers", empty: "Nobody yet." },
  following: { query: Following, heading: "Following", empty: "Nobody yet." },
  mutuals: { query: Mutuals, heading: "Mutuals", empty: "Nobody yet follows back." },
  known: { query: KnownFollowers, heading: "Followers you follow", empty: "Nobody whom you follow." },
} satisfies Record<PeopleTab, object>;
