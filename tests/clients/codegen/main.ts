// Signs in, reads a timeline and a list, publishes, and watches what comes of it:
//
//     tsx codegen/main.ts <url> <username> <password>

import { Client } from "./client";
import { AuthorParts, DeletePost, Feed, Followers, Publish, SignIn, TimelineEvents } from "./documents";
import { type FragmentType, unmask } from "./generated";
import type { FollowersQuery, PublishMutation, RelationStatus, TimelineEventsSubscription } from "./generated/graphql";

type UserErrors = NonNullable<PublishMutation["publish"]>["userErrors"];

/** Refusals that a person can act on come beside the data, each with the field it is about. */
function tellRefusal(what: string, userErrors: UserErrors = []): void {
  for (const { code, field } of userErrors) {
    console.log(`${what} refused: ${code}, ${field?.join(".") ?? "as a whole"}`);
  }
}

async function signIn(client: Client, username: string, password: string): Promise<Client | undefined> {
  const { login } = await client.ask(SignIn, { input: { username, password, label: "codegen" } });
  tellRefusal("login", login?.userErrors);
  return login?.token ? client.as(login.token) : undefined;
}

const STANDINGS: Record<RelationStatus, string> = {
  NONE: "a stranger",
  FOLLOWING: "followed",
  FOLLOWER: "a follower",
  MUTUAL: "followed both ways",
};

function nameAuthor(masked: FragmentType<typeof AuthorParts>): string {
  const { username, relation, mutuals } = unmask(AuthorParts, masked);
  const standing = relation ? STANDINGS[relation.status] : "the viewer";
  const names = mutuals.nodes.map((user) => user.username);
  return `${username} (${standing}; mutuals: ${names.join(" ") || "none"})`;
}

/** Tells a page of the timeline; returns the place from which it goes on at its upper end. */
async function readFeed(client: Client): Promise<string | null> {
  const { viewer } = await client.ask(Feed, { first: 10 });
  if (!viewer) throw new Error("Nobody is signed in.");
  for (const { content, author } of viewer.timeline.nodes) {
    console.log(`${nameAuthor(author)}: ${content}`);
  }
  return viewer.timeline.pageInfo.startCursor;
}

type FollowersPage = NonNullable<FollowersQuery["user"]>["followers"];

async function* pagesOfFollowers(client: Client, username: string): AsyncGenerator<FollowersPage> {
  let after: string | null = null;
  do {
    const { user }: FollowersQuery = await client.ask(Followers, { username, first: 2, after });
    if (!user) return;
    yield user.followers;
    after = user.followers.pageInfo.hasNextPage ? user.followers.pageInfo.endCursor : null;
  } while (after !== null);
}

async function readFollowers(client: Client, username: string): Promise<void> {
  for await (const { edges, totalCount } of pagesOfFollowers(client, username)) {
    console.log(`followers: ${edges.map(({ node }) => node.username).join(" ")} of ${totalCount}`);
  }
}

async function publish(client: Client, content: string): Promise<void> {
  const { publish } = await client.ask(Publish, { input: { content, platform: "codegen" } });
  tellRefusal("post", publish?.userErrors);
}

/** The compiler refuses this when the schema has a kind of event that is not told of here. */
function tellOf(event: TimelineEventsSubscription["timeline"]): string {
  switch (event.__typename) {
    case "PostAdded":
      return `came: ${event.post.content}`;
    case "PostRemoved":
      return "went";
  }
}

/** Watches from a place of the timeline on, and deletes what comes, until it is seen to be gone. */
async function watch(client: Client, after: string | null): Promise<void> {
  for await (const { timeline: event } of client.watch(TimelineEvents, { after })) {
    console.log(tellOf(event));
    if (event.__typename === "PostRemoved") return;
    await client.ask(DeletePost, { postId: event.post.id });
  }
}

const [url = "", username = "", password = ""] = process.argv.slice(2);
const stranger = new Client(url);
await signIn(stranger, username, `not ${password}`);
const client = await signIn(stranger, username, password);
if (!client) throw new Error("The password is wrong.");
const top = await readFeed(client);
await readFollowers(client, username);
await publish(client, "");
await publish(client, "a new post");
await watch(client, top);
