// Signs in, reads a timeline and a list, publishes, and receives the resulting events:
//
//     tsx codegen/main.ts <url> <username> <password>

import { Client } from "./client";
import { AuthorParts, DeletePost, Feed, Followers, Publish, SignIn, TimelineEvents } from "./documents";
import { type FragmentType, unmask } from "./generated";
import type {
  FeedQuery,
  FollowersQuery,
  PublishMutation,
  RelationStatus,
  TimelineEventsSubscription,
} from "./generated/graphql";

type UserErrors = NonNullable<PublishMutation["publish"]>["userErrors"];

/** Prints user errors: they are part of the data, each with the input field at fault. */
function printErrors(action: string, userErrors: UserErrors = []): void {
  for (const { code, field } of userErrors) {
    console.log(`${action} refused: ${code}, ${field?.join(".") ?? "as a whole"}`);
  }
}

async function signIn(client: Client, username: string, password: string): Promise<Client | undefined> {
  const { login } = await client.execute(SignIn, { input: { username, password, label: "codegen" } });
  printErrors("login", login?.userErrors);
  return login?.token ? client.as(login.token) : undefined;
}

const RELATION_LABELS: Record<RelationStatus, string> = {
  NONE: "a stranger",
  FOLLOWING: "followed",
  FOLLOWER: "a follower",
  MUTUAL: "followed both ways",
  "%future added value": "a relation unknown to this client",
};

/** Returns the label of a relation, of which a later version of the server may have others. */
const labelOf = (status: RelationStatus) => RELATION_LABELS[status] ?? RELATION_LABELS["%future added value"];

function nameAuthor(masked: FragmentType<typeof AuthorParts>): string {
  const { username, relation, mutuals } = unmask(AuthorParts, masked);
  const label = relation ? labelOf(relation.status) : "the viewer";
  const names = mutuals ? mutuals.nodes.map((user) => user.username).join(" ") || "none" : "not loaded";
  return `${username} (${label}; mutuals: ${names})`;
}

type FeedEntry = NonNullable<NonNullable<FeedQuery["viewer"]>["timeline"]>["edges"][number];

/** Describes the reposts and edits of a post; empty if there are none. */
function marksOf({ repostedBy, node: { repostCount, viewerHasReposted, editedAt } }: FeedEntry): string {
  const names = repostedBy.map(({ username }) => username).join(" ");
  const marks = [
    names && `reposted by ${names}`,
    repostCount > 0 && `reposts: ${repostCount}`,
    viewerHasReposted && "reposted by the viewer",
    editedAt && "edited",
  ].filter(Boolean);
  return marks.length > 0 ? ` [${marks.join("; ")}]` : "";
}

/** Prints a post, with its parent's author, its reposts and edits, and the replies below it. */
function printEntry(entry: FeedEntry): void {
  const { content, author, inReplyTo, replies } = entry.node;
  const parent = inReplyTo ? ` to ${inReplyTo.author.username}` : "";
  console.log(`${nameAuthor(author)}${parent}${marksOf(entry)}: ${content}`);
  for (const reply of replies?.nodes ?? []) console.log(`  ${reply.author.username}: ${reply.content}`);
}

/** Prints a page of the timeline; returns its start cursor, for a subscription to resume after. */
async function readFeed(client: Client): Promise<string | null> {
  const { viewer } = await client.execute(Feed, { first: 10 });
  if (!viewer) throw new Error("Not signed in.");
  if (!viewer.timeline) throw new Error("The timeline is temporarily unavailable.");
  viewer.timeline.edges.forEach(printEntry);
  return viewer.timeline.pageInfo.startCursor;
}

type FollowersPage = NonNullable<NonNullable<FollowersQuery["user"]>["followers"]>;

async function* pagesOfFollowers(client: Client, username: string): AsyncGenerator<FollowersPage> {
  let after: string | null = null;
  do {
    const { user }: FollowersQuery = await client.execute(Followers, { username, first: 2, after });
    if (!user?.followers) return;
    yield user.followers;
    after = user.followers.pageInfo.hasNextPage ? user.followers.pageInfo.endCursor : null;
  } while (after !== null);
}

async function readFollowers(client: Client, username: string): Promise<void> {
  for await (const { edges, totalCount } of pagesOfFollowers(client, username)) {
    console.log(
      `followers: ${edges.map(({ node }) => node.username).join(" ")} of ${totalCount ?? "an unknown number"}`,
    );
  }
}

async function publish(client: Client, content: string): Promise<void> {
  const { publish } = await client.execute(Publish, { input: { content, platform: "codegen" } });
  printErrors("post", publish?.userErrors);
}

/** Describes an event. The compiler rejects this function if the schema has a kind of event that it does not handle. */
function describe(event: TimelineEventsSubscription["timeline"]): string {
  switch (event.__typename) {
    case "PostAdded":
      return `came: ${event.edge.node.content}`;
    case "PostRemoved":
      return "went";
    case "RepostRemoved":
      return "is no longer reposted";
    case "TimelineReset":
      return "is to be read again";
    default:
      // A later version of the server may send events of other kinds.
      event satisfies never;
      return "something else happened";
  }
}

/** Receives the timeline's events after a cursor, and deletes each added post, until a removal is received. */
async function watch(client: Client, after: string | null): Promise<void> {
  for await (const { timeline: event } of client.subscribe(TimelineEvents, { after })) {
    console.log(describe(event));
    if (event.__typename === "PostRemoved") return;
    if (event.__typename === "PostAdded") await client.execute(DeletePost, { postId: event.edge.node.id });
  }
}

const [url = "", username = "", password = ""] = process.argv.slice(2);
const anonymous = new Client(url);
await signIn(anonymous, username, `not ${password}`);
const client = await signIn(anonymous, username, password);
if (!client) throw new Error("The username or password is wrong.");
const top = await readFeed(client);
await readFollowers(client, username);
await publish(client, "");
await publish(client, "a new post");
await watch(client, top);
