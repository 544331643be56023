// All documents of this client. The compiler infers the types of the responses from these texts and the schema.

import { initGraphQLTada } from "gql.tada";

import type { introspection } from "./generated/introspection.d.ts";

const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { ID: string; Date: string; DateTime: string };
}>();

export const SignIn = graphql(`
  mutation SignIn($input: LoginInput!) {
    login(input: $input) {
      token
      userErrors {
        message
      }
    }
  }
`);

export const EntryParts = graphql(`
  fragment EntryParts on PostEdge {
    repostedBy {
      username
    }
    node {
      content
      editedAt
      repostCount
      viewerHasReposted
      author {
        username
        relation {
          status
        }
        mutuals(first: 3) {
          nodes {
            username
          }
        }
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
`);

export const Feed = graphql(
  `
    query Feed($first: Int!) {
      viewer {
        timeline(first: $first) {
          edges {
            ...EntryParts
          }
        }
      }
    }
  `,
  [EntryParts],
);
