// Reads a nested feed, with types inferred from the text of the query, without generated code:
//
//     tsx tada/main.ts <url> <username> <password>

import { readFragment, type ResultOf, type TadaDocumentNode, type VariablesOf } from "gql.tada";
import { print } from "graphql";

import { EntryParts, Feed, SignIn } from "./documents";

interface Result<Data> {
  data?: Data | null;
  errors?: ReadonlyArray<{ message: string; path?: ReadonlyArray<string | number> }>;
}

/** Returns the data, in which each failed field is null, and logs these failures; throws if there is no data. */
function dataOf<Data>({ data, errors = [] }: Result<Data>): Data {
  if (!data) throw new Error(errors.map(({ message }) => message).join(" ") || "The response has no data.");
  for (const { message, path } of errors) console.error(`${path?.join(".")}: ${message}`);
  return data;
}

async function execute<Data, Variables>(
  url: string,
  token: string | undefined,
  document: TadaDocumentNode<Data, Variables>,
  variables: NoInfer<Variables>,
): Promise<Data> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/graphql-response+json",
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ query: print(document), variables }),
  });
  return dataOf((await response.json()) as Result<Data>);
}

async function signIn(url: string, input: VariablesOf<typeof SignIn>["input"]): Promise<string> {
  const { login } = await execute(url, undefined, SignIn, { input });
  if (!login?.token) throw new Error(login?.userErrors.map(({ message }) => message).join(" "));
  return login.token;
}

type Entry = ResultOf<typeof EntryParts>;

/** Describes the reposts and edits of a post; empty if there are none. */
function marksOf({ repostedBy, node: { repostCount, viewerHasReposted, editedAt } }: Entry): string {
  const marks = [
    ...repostedBy.map(({ username }) => `reposted by ${username}`),
    ...(repostCount > 0 ? [`reposts: ${repostCount}`] : []),
    ...(viewerHasReposted ? ["reposted by the viewer"] : []),
    ...(editedAt ? ["edited"] : []),
  ];
  return marks.length > 0 ? ` [${marks.join("; ")}]` : "";
}

function describe(entry: Entry): string {
  const { content, author, inReplyTo, replies } = entry.node;
  const mutuals = author.mutuals?.nodes.map(({ username }) => username).join(" ") ?? "not loaded";
  const label = `${author.username} (${author.relation?.status ?? "the viewer"}; mutuals: ${mutuals})`;
  const parent = inReplyTo ? ` to ${inReplyTo.author.username}` : "";
  const below = replies?.nodes.map((reply) => `  ${reply.author.username}: ${reply.content}`) ?? [];
  return [`${label}${parent}${marksOf(entry)}: ${content}`, ...below].join("\n");
}

const [url = "", username = "", password = ""] = process.argv.slice(2);
const token = await signIn(url, { username, password, label: "gql.tada" });
const { viewer } = await execute(url, token, Feed, { first: 10 });
for (const entry of viewer?.timeline?.edges ?? []) console.log(describe(readFragment(EntryParts, entry)));
