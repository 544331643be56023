// The viewer's lists of posts, and their queries.

import { graphql } from "../generated";

export const ReactedPostsPage = graphql(`
  fragment ReactedPostsPage on PostListConnection {
    edges {
      cursor
      node {
        id
        createdAt
        ...PostCard
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
`);

const Likes = graphql(`
  query Likes($after: String) {
    viewer {
      id
      posts: likes(first: 20, after: $after) {
        ...ReactedPostsPage
      }
    }
  }
`);

const Bookmarks = graphql(`
  query Bookmarks($after: String) {
    viewer {
      id
      posts: bookmarks(first: 20, after: $after) {
        ...ReactedPostsPage
      }
    }
  }
`);

export const LISTS = {
  likes: { query: Likes, title: "Likes", empty: "Posts that you like are listed here." },
  bookmarks: { query: Bookmarks, title: "Bookmarks", empty: "Posts that you bookmark are listed here, for you alone." },
};
