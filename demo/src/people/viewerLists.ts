// The viewer's lists of users in the settings and on the page of requests, and their queries.

import { graphql } from "../generated";

export const UserRowsPage = graphql(`
  fragment UserRowsPage on UserConnection {
    nodes {
      id
      ...UserRow
    }
    pageInfo {
      startCursor
      endCursor
      hasNextPage
    }
  }
`);

const Muted = graphql(`
  query Muted($after: String) {
    viewer {
      id
      users: muted(first: 20, after: $after) {
        ...UserRowsPage
      }
    }
  }
`);

const Blocked = graphql(`
  query Blocked($after: String) {
    viewer {
      id
      users: blocked(first: 20, after: $after) {
        ...UserRowsPage
      }
    }
  }
`);

const FollowRequests = graphql(`
  query FollowRequests($after: String) {
    viewer {
      id
      users: followRequests(first: 20, after: $after) {
        ...UserRowsPage
      }
    }
  }
`);

const SentFollowRequests = graphql(`
  query SentFollowRequests($after: String) {
    viewer {
      id
      users: sentFollowRequests(first: 20, after: $after) {
        ...UserRowsPage
      }
    }
  }
`);

export const VIEWER_LISTS = {
  muted: { query: Muted, what: "muted users", empty: "You mute no one." },
  blocked: { query: Blocked, what: "blocked users", empty: "You block no one." },
  received: { query: FollowRequests, what: "requests", empty: "No one is waiting for your answer." },
  sent: { query: SentFollowRequests, what: "sent requests", empty: "None of your requests is pending." },
};

export type ViewerList = keyof typeof VIEWER_LISTS;
