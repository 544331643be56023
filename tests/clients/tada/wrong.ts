// What the types refuse. `tsc` fails here as soon as one of them is let through.

import { readFragment, type ResultOf, type VariablesOf } from "gql.tada";

import { Feed, PostParts, SignIn } from "./documents";

export function wrong({ viewer }: ResultOf<typeof Feed>) {
  // @ts-expect-error: who asks may be nobody.
  viewer.timeline;
  const [post] = viewer?.timeline.nodes ?? [];
  // @ts-expect-error: it belongs to the fragment.
  post?.content;
  // @ts-expect-error: the document does not ask for it.
  post && readFragment(PostParts, post).createdAt;
  // @ts-expect-error: there are four ways to stand, and this is none.
  post && readFragment(PostParts, post).author.relation?.status === "FRIEND";
  // @ts-expect-error: the input has no such field.
  const input: VariablesOf<typeof SignIn> = { input: { username: "ada", password: "secret", mail: "ada@example" } };
  // @ts-expect-error: `first` is missing.
  const variables: VariablesOf<typeof Feed> = {};
  return [input, variables];
}
