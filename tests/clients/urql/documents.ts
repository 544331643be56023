// All documents of this client. The fragments name what the page shows of an object: a payload that spreads them updates
// the page. The cache adds `__typename` to each selection.

import { initGraphQLTada } from "gql.tada";

import type { introspection } from "./generated/introspection.d.ts";

const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { ID: string; Date: string; DateTime: string };
  disableMasking: true;
}>();

/** A user with their relation to the viewer. */
export const Badge = graphql(`
  fragment Badge on User {
    id
    username
    relation {
      id
      status
    }
  }
`);

export const FollowerCount = graphql(`
  fragment FollowerCount on User {
    id
    followerCount
  }
`);

export const FollowingCount = graphql(`
  fragment FollowingCount on User {
    id
    followingCount
  }
`);

export const PostCount = graphql(`
  fragment PostCount on User {
    id
    postCount
  }
`);

export const PostEntry = graphql(`
  fragment PostEntry on PostEdge {
    cursor
    node {
      id
      content
    }
  }
`);

/** The list that a published post is prepended to. */
export const PostList = graphql(
  `
    fragment PostList on User {
      id
      posts(first: 10) {
        edges {
          ...PostEntry
        }
      }
    }
  `,
  [PostEntry],
);

export const Own = graphql(
  `
    query Own {
      viewer {
        id
        user {
          ...FollowingCount
          ...PostCount
          ...PostList
          following(first: 10) {
            edges {
              node {
                ...Badge
              }
            }
          }
        }
      }
    }
  `,
  [FollowingCount, PostCount, PostList, Badge],
);

export const Profile = graphql(
  `
    query Profile($username: String!) {
      user(by: { username: $username }) {
        ...Badge
        ...FollowerCount
      }
    }
  `,
  [Badge, FollowerCount],
);

export const Timeline = graphql(
  `
    query Timeline {
      viewer {
        id
        timeline(first: 10) {
          edges {
            node {
              id
              content
              author {
                ...Badge
              }
              inReplyTo {
                id
                author {
                  ...Badge
                }
              }
            }
          }
        }
      }
    }
  `,
  [Badge],
);

export const Follow = graphql(
  `
    mutation Follow($userId: ID!) {
      follow(input: { userId: $userId }) {
        user {
          ...Badge
          ...FollowerCount
        }
        viewer {
          id
          user {
            ...FollowingCount
          }
        }
        userErrors {
          message
        }
      }
    }
  `,
  [Badge, FollowerCount, FollowingCount],
);

export const Unfollow = graphql(
  `
    mutation Unfollow($userId: ID!) {
      unfollow(input: { userId: $userId }) {
        user {
          ...Badge
          ...FollowerCount
        }
        viewer {
          id
          user {
            ...FollowingCount
          }
        }
        userErrors {
          message
        }
      }
    }
  `,
  [Badge, FollowerCount, FollowingCount],
);

export const Publish = graphql(
  `
    mutation Publish($content: String!) {
      publish(input: { content: $content }) {
        postEdge {
          ...PostEntry
        }
        viewer {
          id
          user {
            ...PostCount
          }
        }
        userErrors {
          message
        }
      }
    }
  `,
  [PostEntry, PostCount],
);

export const RelationChanged = graphql(`
  subscription RelationChanged {
    relationChanged {
      __typename
      ... on RelationChanged {
        relation {
          id
          status
        }
      }
    }
  }
`);
