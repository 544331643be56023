// Type errors: `tsc` fails here if it accepts any of them.

import type { Client } from "./client";
import { AuthorParts, Feed, Followers, Publish } from "./documents";
import { unmask } from "./generated";

export async function wrong(client: Client) {
  const { viewer } = await client.execute(Feed, { first: 10 });
  // @ts-expect-error: `viewer` is null for an anonymous request.
  viewer.timeline;
  // @ts-expect-error: `timeline` is null if it could not be loaded.
  viewer?.timeline.edges;
  const post = viewer?.timeline?.edges[0]?.node;
  // @ts-expect-error: the document does not select it.
  post?.createdAt;
  // @ts-expect-error: it belongs to the fragment.
  post?.author.username;
  // @ts-expect-error: users have no such field.
  post && unmask(AuthorParts, post.author).nickname;
  // @ts-expect-error: not one of the four relations.
  post && unmask(AuthorParts, post.author).relation?.status === "FRIEND";
  // @ts-expect-error: `first` is missing.
  await client.execute(Followers, { username: "ada" });
  // @ts-expect-error: `content` is a string.
  await client.execute(Publish, { input: { content: 7 } });
  // @ts-expect-error: the input has no such field.
  await client.execute(Publish, { input: { content: "a post", title: "a title" } });
}
