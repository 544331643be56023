// Shows the relation to a user, and the events of the timeline after a cursor until a post is added:
//
//     tsx older/typescript/main.ts <url> <token> <username> <cursor>

import { createClient } from "graphql-ws";
import WebSocket from "ws";

import {
  RelationToDocument,
  type RelationStatus,
  TimelineDocument,
  type TimelineSubscription,
  type TypedDocumentString,
} from "./generated/graphql";

const RELATION_LABELS: Record<RelationStatus, string> = {
  NONE: "a stranger",
  FOLLOWING: "followed",
  FOLLOWER: "a follower",
  "%future added value": "a relation unknown to this client",
};

/** Returns the label of a relation, of which a later version of the server may have others. */
const labelOf = (status: RelationStatus) => RELATION_LABELS[status] ?? RELATION_LABELS["%future added value"];

function describe(event: TimelineSubscription["timeline"]): string {
  switch (event.__typename) {
    case "PostAdded":
      return `came: ${event.edge.node.content}`;
    case "PostRemoved":
      return `went: ${event.postId}`;
    // The types do not require it: a later version of the server may send events of other kinds.
    default:
      return "something else happened";
  }
}

const [url = "", token = "", username = "", after = ""] = process.argv.slice(2);
const socket = createClient({
  url: url.replace(/^http/, "ws"),
  webSocketImpl: WebSocket,
  connectionParams: { authorization: `Bearer ${token}` },
});

async function* results<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentString<Data, Variables>,
  variables: NoInfer<Variables>,
): AsyncGenerator<Data, void> {
  for await (const { data, errors } of socket.iterate<Data>({ query: document.toString(), variables })) {
    if (!data) throw new Error(JSON.stringify(errors));
    yield data;
  }
}

for await (const { user } of results(RelationToDocument, { username })) {
  if (user?.relation) console.log(labelOf(user.relation.status));
}
for await (const { timeline: event } of results(TimelineDocument, { after })) {
  console.log(describe(event));
  if (event.__typename === "PostAdded") break;
}
await socket.dispose();
