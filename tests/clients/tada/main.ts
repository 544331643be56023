// Reads a nested feed; its types are inferred from the text of the query, and no code is generated for it:
//
//     tsx tada/main.ts <url> <username> <password>

import { readFragment, type ResultOf, type TadaDocumentNode, type VariablesOf } from "gql.tada";
import { print } from "graphql";

import { Feed, PostParts, SignIn } from "./documents";

interface Answer<Result> {
  data?: Result | null;
  errors?: ReadonlyArray<{ message: string }>;
}

async function ask<Result, Variables>(
  url: string,
  token: string | undefined,
  document: TadaDocumentNode<Result, Variables>,
  variables: NoInfer<Variables>,
): Promise<Result> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/graphql-response+json",
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const { data, errors } = (await response.json()) as Answer<Result>;
  if (errors) throw new Error(errors.map(({ message }) => message).join(" "));
  if (!data) throw new Error("There are no data.");
  return data;
}

async function signIn(url: string, input: VariablesOf<typeof SignIn>["input"]): Promise<string> {
  const { login } = await ask(url, undefined, SignIn, { input });
  if (!login?.token) throw new Error(login?.userErrors.map(({ message }) => message).join(" "));
  return login.token;
}

function tellOf({ content, author }: ResultOf<typeof PostParts>): string {
  const mutuals = author.mutuals.nodes.map(({ username }) => username);
  return `${author.username} (${author.relation?.status ?? "the viewer"}; mutuals: ${mutuals.join(" ")}): ${content}`;
}

const [url = "", username = "", password = ""] = process.argv.slice(2);
const token = await signIn(url, { username, password, label: "gql.tada" });
const { viewer } = await ask(url, token, Feed, { first: 10 });
for (const post of viewer?.timeline.nodes ?? []) console.log(tellOf(readFragment(PostParts, post)));
