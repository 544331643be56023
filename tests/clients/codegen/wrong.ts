// What the types refuse. `tsc` fails here as soon as one of them is let through.

import type { Client } from "./client";
import { AuthorParts, Feed, Followers, Publish } from "./documents";
import { unmask } from "./generated";

export async function wrong(client: Client) {
  const { viewer } = await client.ask(Feed, { first: 10 });
  // @ts-expect-error: who asks may be nobody.
  viewer.timeline;
  const [post] = viewer?.timeline.nodes ?? [];
  // @ts-expect-error: the document does not ask for it.
  post?.createdAt;
  // @ts-expect-error: it belongs to the fragment.
  post?.author.username;
  // @ts-expect-error: users have no such field.
  post && unmask(AuthorParts, post.author).nickname;
  // @ts-expect-error: there are four ways to stand, and this is none.
  post && unmask(AuthorParts, post.author).relation?.status === "FRIEND";
  // @ts-expect-error: `first` is missing.
  await client.ask(Followers, { username: "ada" });
  // @ts-expect-error: a content is a text.
  await client.ask(Publish, { input: { content: 7 } });
  // @ts-expect-error: the input has no such field.
  await client.ask(Publish, { input: { content: "a post", title: "a title" } });
}
