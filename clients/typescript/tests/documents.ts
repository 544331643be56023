// The documents of the tests, for Apollo Client and urql; `relay/documents.ts` has the same for Relay.

const EDGE = "cursor key positions listedAt repostedBy { id username } node { id content author { id username } }";

export const HOME = `query Home($after: String) {
  viewer { id timeline(first: 5, after: $after) { edges { ${EDGE} } pageInfo { endCursor hasNextPage } liveCursor } }
}`;

export const EVENTS = `subscription Events($after: String) {
  timeline(after: $after) {
    __typename
    cursor
    ... on PostAdded { edge { ${EDGE} } }
    ... on PostRemoved { postId }
    ... on RepostRemoved { postId userId }
  }
}`;

const RELATION = "id status followingSince requestedSince";

export const PROFILE = `query Profile($id: ID!) {
  node(id: $id) { __typename id ... on User { isPrivate relation { ${RELATION} } } }
}`;

export const FOLLOW = `mutation Follow($input: FollowInput!) {
  follow(input: $input) { relation { ${RELATION} } userErrors { code message } }
}`;

export const UNFOLLOW = `mutation Unfollow($input: UnfollowInput!) {
  unfollow(input: $input) { relation { ${RELATION} } userErrors { code message } }
}`;

export const RELATION_EVENTS = `subscription RelationEvents {
  relationChanged { __typename ... on RelationChanged { relation { ${RELATION} } } }
}`;

export const RELATIONS = `query Relations($userIds: [ID!]!) { relations(userIds: $userIds) { ${RELATION} } }`;

export const FOLLOWERS = `query Followers($id: ID!, $after: String) {
  node(id: $id) {
    __typename
    id
    ... on User {
      followers(first: 2, after: $after) { edges { cursor node { id } } pageInfo { endCursor hasNextPage } }
    }
  }
}`;

const POST = "id content likeCount viewerHasLiked viewerHasBookmarked";

export const POST_BY_ID = `query PostById($id: ID!) { post(id: $id) { ${POST} } }`;

const reactedDocument = (change: string) => {
  const name = `${change[0]!.toUpperCase()}${change.slice(1)}`;
  const payload = `post { ${POST} } userErrors { code message }`;
  return `mutation ${name}($input: ${name}Input!) { ${change}(input: $input) { ${payload} } }`;
};

export const REACTIONS = {
  like: reactedDocument("like"),
  unlike: reactedDocument("unlike"),
  bookmark: reactedDocument("bookmark"),
  removeBookmark: reactedDocument("removeBookmark"),
};

export const REACTED = `query Reacted($after: String) {
  viewer {
    id
    likes(first: 5, after: $after) {
      edges { cursor listedAt node { ${POST} } } pageInfo { endCursor hasNextPage }
    }
    bookmarks(first: 5) { nodes { ${POST} } pageInfo { endCursor hasNextPage } }
  }
}`;
