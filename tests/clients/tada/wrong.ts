// Type errors: `tsc` fails here if it accepts any of them.

import { readFragment, type ResultOf, type VariablesOf } from "gql.tada";

import { EntryParts, Feed, SignIn } from "./documents";

export function wrong({ viewer }: ResultOf<typeof Feed>) {
  // @ts-expect-error: `viewer` is null for an anonymous request.
  viewer.timeline;
  // @ts-expect-error: `timeline` is null if it could not be loaded.
  viewer?.timeline.edges;
  const [entry] = viewer?.timeline?.edges ?? [];
  // @ts-expect-error: it belongs to the fragment.
  entry?.node;
  // @ts-expect-error: the document does not select it.
  entry && readFragment(EntryParts, entry).node.createdAt;
  // @ts-expect-error: not one of the four relations.
  entry && readFragment(EntryParts, entry).node.author.relation?.status === "FRIEND";
  // @ts-expect-error: the input has no such field.
  const input: VariablesOf<typeof SignIn> = { input: { username: "ada", password: "secret", mail: "ada@example" } };
  // @ts-expect-error: `first` is missing.
  const variables: VariablesOf<typeof Feed> = {};
  return [input, variables];
}
