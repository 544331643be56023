// All documents of this client. The generator reads them here, and derives the types of the responses from them.

import { graphql } from "./generated";

export const SignIn = graphql(`
  mutation SignIn($input: LoginInput!) {
    login(input: $input) {
      token
      userErrors {
        code
        message
        field
      }
    }
  }
`);

/** An author with their relation to the viewer, and their mutuals. */
export const AuthorParts = graphql(`
  fragment AuthorParts on User {
    username
    relation {
      status
      followingSince
    }
    mutuals(first: 3) {
      totalCount
      nodes {
        username
      }
    }
  }
`);

export const Feed = graphql(`
  query Feed($first: Int!) {
    viewer {
      timeline(first: $first) {
        edges {
          repostedBy {
            username
          }
          node {
            content
            editedAt
            repostCount
            viewerHasReposted
            author {
              ...AuthorParts
            }
            inReplyTo {
              author {
                username
              }
            }
            replies(first: 2) {
              nodes {
                content
                author {
                  username
                }
              }
            }
          }
        }
        pageInfo {
          startCursor
        }
      }
    }
  }
`);

export const Followers = graphql(`
  query Followers($username: String!, $first: Int!, $after: String) {
    user(by: { username: $username }) {
      followers(first: $first, after: $after) {
        totalCount
        edges {
          followedAt
          node {
            username
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

export const Publish = graphql(`
  mutation Publish($input: PublishInput!) {
    publish(input: $input) {
      post {
        id
        content
      }
      userErrors {
        code
        message
        field
      }
    }
  }
`);

export const DeletePost = graphql(`
  mutation DeletePost($postId: ID!) {
    deletePost(input: { postId: $postId }) {
      deletedPostId
      userErrors {
        code
        message
        field
      }
    }
  }
`);

export const TimelineEvents = graphql(`
  subscription TimelineEvents($after: String) {
    timeline(after: $after) {
      __typename
      cursor
      ... on PostAdded {
        edge {
          key
          positions
          listedAt
          node {
            id
            content
          }
          repostedBy {
            username
          }
        }
      }
      ... on PostRemoved {
        postId
      }
    }
  }
`);
