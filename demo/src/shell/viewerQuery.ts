// Who is signed in.

import { graphql } from "../generated";

export const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      user {
        id
        username
        displayName
      }
    }
  }
`);
