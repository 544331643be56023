// Subscribes to a timeline with the client libraries of web pages, while another user publishes:
//
//     node watch.mjs ws|sse <url> <token of the subscriber> <token of the publisher>
//
// Prints one line per event, before and after the client resumes after a cursor.

import { createClient as createEventClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import WebSocket from "ws";

const [kind, url, watcher, publisher] = process.argv.slice(2);
const headers = (token) => ({ authorization: `Bearer ${token}` });

const clients = {
  ws: () =>
    createSocketClient({
      url: url.replace("http", "ws"),
      webSocketImpl: WebSocket,
      connectionParams: headers(watcher),
      retryAttempts: 0,
    }),
  sse: () => createEventClient({ url, headers: headers(watcher), retryAttempts: 0 }),
};

const query = `subscription ($after: String) {
  timeline(after: $after) { ... on PostAdded { cursor edge { node { content author { username } } } } }
}`;

async function publish(content) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers(publisher) },
    body: JSON.stringify({
      query: "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }",
      variables: { content },
    }),
  });
  const { errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
}

/** Prints the next `count` events after a cursor while publishing `contents`; returns the last cursor. */
async function watch(after, count, contents) {
  const client = clients[kind]();
  const events = client.iterate({ query, variables: { after } });
  const publishing = (async () => {
    for (const content of contents) await publish(content);
  })();
  let cursor = after;
  for (let number = 0; number < count; number += 1) {
    const { value, done } = await events.next();
    if (done || value.errors) throw new Error(JSON.stringify(value));
    const { edge, ...event } = value.data.timeline;
    cursor = event.cursor;
    console.log(`${edge.node.author.username}: ${edge.node.content}`);
  }
  await publishing;
  await events.return();
  await client.dispose();
  return cursor;
}

/** Waits until this post is first in the timeline, and returns its cursor. */
async function cursorOf(content) {
  const query = "{ viewer { timeline(first: 20) { nodes { content } pageInfo { startCursor } } } }";
  for (;;) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers(watcher) },
      body: JSON.stringify({ query }),
    });
    const { nodes, pageInfo } = (await response.json()).data.viewer.timeline;
    if (nodes[0]?.content === content) return pageInfo.startCursor;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await publish("before");
const cursor = await watch(await cursorOf("before"), 3, ["one", "two", "three", "four"]);
await watch(cursor, 3, ["five", "six"]);

// An invalid document is rejected as the protocol specifies.
const rejected = clients[kind]().iterate({ query: "subscription { nothing }" });
const failure = await rejected.next().then(
  () => "nothing",
  (error) => error,
);
console.log(Array.isArray(failure) ? failure[0].extensions.code : failure.response?.status);
process.exit(0);
