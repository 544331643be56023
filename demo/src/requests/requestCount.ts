// The number of users who wait for the viewer to accept their requests to follow.

import { graphql } from "../generated";

export const RequestCountViewer = graphql(`
  fragment RequestCount on Viewer {
    followRequests(first: 0) {
      totalCount
    }
  }
`);
