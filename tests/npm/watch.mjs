// Watches a timeline with the clients that web pages use, and publishes meanwhile:
//
//     node watch.mjs ws|sse <url> <token of who watches> <token of who publishes>
//
// Each event is told in a line; so is what comes after the client has gone on from a cursor.

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
  timeline(after: $after) { ... on PostAdded { cursor post { content author { username } } } }
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

/** The next so many events from a cursor on, while these are published. */
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
    const { post, ...place } = value.data.timeline;
    cursor = place.cursor;
    console.log(`${post.author.username}: ${post.content}`);
  }
  await publishing;
  await events.return();
  await client.dispose();
  return cursor;
}

/** The cursor of a page of all there is, as soon as this post has come to it. */
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

// What cannot be executed, and who is not known, is told as the protocol says.
const refused = clients[kind]().iterate({ query: "subscription { nothing }" });
const failure = await refused.next().then(
  () => "nothing",
  (error) => error,
);
console.log(Array.isArray(failure) ? failure[0].extensions.code : failure.response?.status);
process.exit(0);
