// The query for the signed-in user.

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
