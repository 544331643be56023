// The documents of the tests for Relay. The compiler writes them to `generated`.

import { graphql } from "relay-runtime";

graphql`
  query documentsHomeQuery($after: String) {
    viewer {
      id
      timeline(first: 5, after: $after) {
        edges {
          ...documentsEdge @relay(mask: false)
        }
        pageInfo {
          endCursor
          hasNextPage
        }
        liveCursor
      }
    }
  }
`;

graphql`
  fragment documentsEdge on PostEdge {
    cursor
    key
    positions
    listedAt
    repostedBy {
      id
      username
    }
    node {
      id
      content
      author {
        username
      }
    }
  }
`;

graphql`
  subscription documentsEventsSubscription($after: String) {
    timeline(after: $after) {
      __typename
      cursor
      ... on PostAdded {
        edge {
          ...documentsEdge @relay(mask: false)
        }
      }
      ... on PostRemoved {
        postId
      }
      ... on RepostRemoved {
        postId
        userId
      }
    }
  }
`;

graphql`
  query documentsProfileQuery($id: ID!) {
    node(id: $id) {
      __typename
      id
      ... on User {
        isPrivate
        relation {
          ...documentsRelation @relay(mask: false)
        }
      }
    }
  }
`;

graphql`
  fragment documentsRelation on Relation {
    id
    status
    followingSince
    requestedSince
  }
`;

graphql`
  mutation documentsFollowMutation($input: FollowInput!) {
    follow(input: $input) {
      relation {
        ...documentsRelation @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  mutation documentsUnfollowMutation($input: UnfollowInput!) {
    unfollow(input: $input) {
      relation {
        ...documentsRelation @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  subscription documentsRelationsSubscription {
    relationChanged {
      __typename
      ... on RelationChanged {
        relation {
          ...documentsRelation @relay(mask: false)
        }
      }
    }
  }
`;

graphql`
  query documentsRelationsQuery($userIds: [ID!]!) {
    relations(userIds: $userIds) {
      ...documentsRelation @relay(mask: false)
    }
  }
`;

graphql`
  fragment documentsPost on Post {
    id
    content
    likeCount
    viewerHasLiked
    viewerHasBookmarked
  }
`;

graphql`
  query documentsPostQuery($id: ID!) {
    post(id: $id) {
      ...documentsPost @relay(mask: false)
    }
  }
`;

graphql`
  query documentsReactedQuery($after: String) {
    viewer {
      id
      likes(first: 5, after: $after) @connection(key: "Reacted_likes") {
        edges {
          cursor
          listedAt
          node {
            ...documentsPost @relay(mask: false)
          }
        }
      }
      bookmarks(first: 5) {
        nodes {
          ...documentsPost @relay(mask: false)
        }
      }
    }
  }
`;

graphql`
  mutation documentsLikeMutation($input: LikeInput!) {
    like(input: $input) {
      post {
        ...documentsPost @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  mutation documentsUnlikeMutation($input: UnlikeInput!) {
    unlike(input: $input) {
      post {
        ...documentsPost @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  mutation documentsBookmarkMutation($input: BookmarkInput!) {
    bookmark(input: $input) {
      post {
        ...documentsPost @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  mutation documentsRemoveBookmarkMutation($input: RemoveBookmarkInput!) {
    removeBookmark(input: $input) {
      post {
        ...documentsPost @relay(mask: false)
      }
      userErrors {
        code
        message
      }
    }
  }
`;
