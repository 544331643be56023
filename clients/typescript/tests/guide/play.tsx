// Uses the app of `docs/clients.md` in a page, against a real server, together with other clients.

import { close, enter, see } from "../harness/dom.js";
import "../harness/warnings.js";

import assert from "node:assert/strict";

import { act, type FunctionComponent } from "react";
import { createRoot } from "react-dom/client";

import type { Entry } from "../../src/entries.js";
import { QuietWebSocket } from "../harness/socket.js";
import { ask, PASSWORD, pause, register, type User } from "../harness/world.js";

/** The number of entries of a page of the app's timeline. */
const PAGE = 20;
/** Timeout of a condition, in milliseconds: the machine may be busy with other tests. */
const TIMEOUT = 60_000;

/** The names of the operations that the app has sent in HTTP requests. */
const sent: string[] = [];
let isOffline = false;
const { fetch } = globalThis;
Object.assign(globalThis, {
  WebSocket: QuietWebSocket,
  async fetch(url: string, options: RequestInit) {
    sent.push(/(?:query|mutation) (\w+)/.exec(String(options.body))?.[1] ?? "");
    return isOffline ? Promise.reject(new TypeError("offline")) : fetch(url, options);
  },
});
/** Returns the number of operations with this name that the app has sent. */
const requestsOf = (name: string) => sent.filter((other) => other === name).length;

// The paths are variables: the app is not there when the types of this program are checked.
const file = (path: string) => import(new URL(`generated/src/${path}`, import.meta.url).href);
const { default: App } = (await file("App.tsx")) as { default: FunctionComponent };

const root = document.createElement("div");
document.body.append(root);
const page = createRoot(root);
act(() => page.render(<App />));

const all = (selector: string, within: ParentNode = root) => [...within.querySelectorAll<HTMLElement>(selector)];
const post = (content: string) =>
  all("article").find((article) => article.querySelector("p[dir]")!.textContent === content)!;
const button = (text: string, within: ParentNode = root) =>
  all("button", within).find(({ textContent }) => textContent!.includes(text))!;
const click = (text: string, within?: ParentNode) => act(async () => button(text, within).click());
const write = (name: string, text: string, within: ParentNode = root) =>
  act(() => enter(within.querySelector(`[aria-label=${name}]`)!, text));

/** Waits until a condition holds. */
async function reach(condition: () => unknown, what: string): Promise<void> {
  for (const end = Date.now() + TIMEOUT; !condition();) {
    assert.ok(Date.now() < end, `not reached: ${what}: ${root.textContent}`);
    await act(() => pause());
  }
}

const [reader, writer, other] = [await register("reader"), await register("writer"), await register("other")];
await reader.follow(writer);
const posts = 2 * PAGE + 1;
for (let index = 1; index < posts; index += 1) await writer.publish(`post ${index}`);
const popular = await writer.publish("popular");
const publish = "mutation ($input: PublishInput!) { publish(input: $input) { userErrors { code } } }";
const reply = (content: string, inReplyTo: string, author: User) =>
  ask(publish, { input: { content, inReplyTo } }, author.token);
for (let index = 0; index < PAGE + 2; index += 1) await reply(`reply ${index}`, popular, other);

// Sign in.
write("Username", reader.name);
write("Password", "a wrong password");
await click("Sign in");
await reach(() => all("[role=alert]").length === 1, "an error");
write("Password", PASSWORD);
await click("Sign in");
await reach(() => all("article").length === PAGE, "the first page");

/** Sees the end of a list in these elements, and reads on: to the end, but once only while the server is not reached. */
async function readOn(within: string, name: string, first: number, total: number): Promise<void> {
  const entries = () => all(`${within} > article`).length;
  await reach(() => entries() === first, `a page of ${name}`);
  await act(() => pause(100));
  const before = requestsOf(name);
  isOffline = true;
  act(() => see((element) => element.parentElement!.matches(within)));
  const retry = () => all(`${within} > div button`)[0];
  await reach(retry, "an error");
  await act(() => pause(1_500));
  assert.equal(requestsOf(name), before + 1);
  assert.equal(entries(), first);
  isOffline = false;
  act(() => retry()!.click());
  await reach(() => entries() === total && all(`${within} > div`).length === 0, `the last page of ${name}`);
  assert.equal(requestsOf(name), before + 1 + Math.ceil(total / PAGE) - first / PAGE);
  see(() => false);
}
await readOn("main", "Home", PAGE, posts);
await click("replies", post("popular"));
await readOn("section", "Replies", PAGE, PAGE + 2);
await click("replies", post("popular"));

// Live updates, and an own post.
const live = await writer.publish("live");
await reach(() => all("article")[0] === post("live"), "a live entry");
write("Post", "own");
await click("Publish");
await reach(() => all("article")[0] === post("own"), "the viewer's own post");
await reach(() => root.querySelector("textarea")!.value === "", "an empty draft");

// A repost is shown at once, and rolled back if the server rejects it.
const reposts = (content: string) => {
  const shown = button("reposts", post(content));
  return `${shown.textContent} ${shown.getAttribute("aria-pressed")}`;
};
const select = "query ($id: ID!) { post(id: $id) { repostCount } }";
const repostCount = async () => (await ask(select, { id: live }, reader.token))["post"].repostCount;
act(() => button("reposts", post("live")).click());
assert.equal(reposts("live"), "1 reposts true");
for (let count = 0; count === 0; count = await repostCount()) await act(() => pause());
await click("reposts", post("live"));
await reach(() => reposts("live") === "0 reposts false", "no repost");
await ask(publish, { input: { content: "for followers", visibility: "FOLLOWERS" } }, writer.token);
await reach(() => post("for followers"), "a live entry");
act(() => button("reposts", post("for followers")).click());
assert.equal(reposts("for followers"), "1 reposts true");
await reach(() => post("for followers").querySelector("[role=alert]"), "an error");
assert.equal(reposts("for followers"), "0 reposts false");

// Likes and bookmarks: shown at once, and sent to the server.
const pressed = (text: string) => {
  const shown = button(text, post("live"));
  return `${shown.textContent} ${shown.getAttribute("aria-pressed")}`;
};
const bookmarks = async () =>
  (await ask("{ viewer { bookmarks { nodes { id } } } }", {}, reader.token))["viewer"].bookmarks.nodes;
const likes = async () =>
  (await ask("query ($id: ID!) { post(id: $id) { likeCount } }", { id: live }))["post"].likeCount;
act(() => button("likes", post("live")).click());
act(() => button("Bookmark", post("live")).click());
assert.deepEqual([pressed("likes"), pressed("Bookmark")], ["1 likes true", "Bookmark true"]);
for (let count = 0; count === 0; count = await likes()) await act(() => pause());
for (let ids: unknown[] = []; ids.length === 0; ids = await bookmarks()) await act(() => pause());
isOffline = true;
act(() => button("likes", post("live")).click());
assert.equal(pressed("likes"), "0 likes false");
await reach(() => post("live").querySelector("[role=alert]"), "an error");
assert.equal(pressed("likes"), "1 likes true");
isOffline = false;
await click("likes", post("live"));
await reach(() => pressed("likes") === "0 likes false" && !post("live").querySelector("[role=alert]"), "no like");

// Replies.
await click("replies", post("live"));
await reach(() => post("live").querySelector("textarea"), "a thread");
write("Post", "reply", post("live"));
await click("Publish", post("live"));
await reach(() => button("1 replies", post("live")), "the number of replies");
await reach(() => all("section article", post("live")).length === 1, "the reply");
await reply("theirs", live, other);
write("Post", "second", post("live"));
await click("Publish", post("live"));
await reach(() => all("section article", post("live")).length === 3, "the replies");
await reply("by the author", live, writer);
await reach(() => button("4 replies", post("live")), "the number of replies, by an event");
assert.match(post("by the author").textContent!, new RegExp(`^Reply to ${writer.name}`));
await click("replies", post("for followers"));
write("Post", "for followers, too", post("for followers"));
await click("Publish", post("for followers"));
await reach(() => all("section article", post("for followers")).length === 1, "a reply to a post for followers");
await reply("late", popular, other);
await click("replies", post("popular"));
await reach(() => button(`${PAGE + 3} replies`, post("popular")), "the number of replies, by reading them");
assert.equal(all("section article", post("popular"))[0], post("late"));

// A follow in another client, and one in this.
assert.ok(button("Follow", post("theirs")));
await reader.follow(other);
await reach(() => button("Unfollow", post("theirs")), "a follow in another client");

// Without a cache.
const { watchHome } = await file("live.ts");
let entries: readonly (Entry & { node: { content: string } })[] = [];
let hasMore = false;
const home = watchHome((shown: typeof entries, more: boolean) => ([entries, hasMore] = [shown, more]));
await reach(() => entries.length === PAGE && hasMore, "a page");
await act(() => home.loadMore());
await writer.publish("last");
await reach(() => entries[0]?.node.content === "last", "a live entry without a cache");
assert.equal(entries.length, 2 * PAGE + 1);
home.stop();

// Unfollow: the timeline is read again.
await reach(() => post("last"), "a live entry");
await click("Unfollow", post("last"));
await reach(() => !post("last") && post("own"), "a timeline without the user");
await click("Sign out");
await reach(() => button("Sign in"), "a form to sign in");

act(() => page.unmount());
const { fanfold } = (await file("session.ts")) as { fanfold: { close(): void } };
fanfold.close();
await close();
