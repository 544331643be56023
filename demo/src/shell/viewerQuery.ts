// The query for the signed-in user, and what mutations change of it.

import { graphql } from "../generated";

export const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      id
      ...RequestCount
      user {
        id
        username
        displayName
        avatarUrl
      }
    }
  }
`);

export const OwnPostCountViewer = graphql(`
  fragment OwnPostCount on Viewer {
    id
    user {
      id
      postCount
    }
  }
`);
