// The lists in Apollo Client's cache.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gql, InMemoryCache } from "@apollo/client";

import { fanfoldCache } from "../src/apollo.js";

const query = gql`
  query ($order: ReplyOrder, $after: String) {
    post {
      id
      replies(order: $order, after: $after) {
        edges {
          cursor
          node {
            id
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`;

test("lists that differ in an argument are kept apart, and their pages joined", () => {
  const cache = new InMemoryCache(fanfoldCache());
  const write = (order: string, after: string | null, id: string) => {
    const edges = [{ __typename: "PostEdge", cursor: id, node: { __typename: "Post", id } }];
    const pageInfo = { __typename: "PageInfo", endCursor: id, hasNextPage: true };
    const replies = { __typename: "PostListConnection", edges, pageInfo };
    const data = { post: { __typename: "Post", id: "post", replies } };
    cache.writeQuery({ query, variables: { order, after }, data });
  };
  write("OLDEST", null, "a");
  write("OLDEST", "a", "b");
  write("NEWEST", null, "z");
  const listed = (order: string) => {
    const data = cache.readQuery<any>({ query, variables: { order } });
    return data.post.replies.edges.map(({ node }: { node: { id: string } }) => node.id);
  };
  assert.deepEqual(listed("OLDEST"), ["a", "b"]);
  assert.deepEqual(listed("NEWEST"), ["z"]);
});
