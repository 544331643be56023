// All documents of this client. The fragments name what the page shows of an object: a payload that spreads them updates
// the page. Apollo Client adds `__typename` to each selection.

import { graphql } from "./generated";

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
export const PostList = graphql(`
  fragment PostList on User {
    id
    posts(first: 10) {
      edges {
        ...PostEntry
      }
    }
  }
`);

export const Own = graphql(`
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
`);

export const Profile = graphql(`
  query Profile($username: String!) {
    user(by: { username: $username }) {
      ...Badge
      ...FollowerCount
    }
  }
`);

export const Timeline = graphql(`
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
`);

export const Follow = graphql(`
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
`);

export const Unfollow = graphql(`
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
`);

export const Publish = graphql(`
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
`);

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
