// Uses the app of `docs/clients.md` in a page, against a real server, together with other clients.

import { close, enter } from "../harness/dom.js";

import assert from "node:assert/strict";

import { act, type FunctionComponent } from "react";
import { createRoot } from "react-dom/client";

import type { Entry } from "../../src/entries.js";
import { QuietWebSocket } from "../harness/socket.js";
import { ask, PASSWORD, pause, register } from "../harness/world.js";

/** The number of entries of a page of the app's timeline. */
const PAGE = 20;
/** Timeout of a condition, in milliseconds: the machine may be busy with other tests. */
const TIMEOUT = 60_000;

Object.assign(globalThis, { WebSocket: QuietWebSocket });
// The paths are variables: the app is not there when the types of this program are checked.
const file = (path: string) => import(new URL(`generated/src/${path}`, import.meta.url).href);
const { App } = (await file("App.tsx")) as { App: FunctionComponent };

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
for (let index = 0; index < PAGE + 2; index += 1) await writer.publish(`post ${index}`);

// Sign in.
write("Username", reader.name);
write("Password", "a wrong password");
await click("Sign in");
await reach(() => all("[role=alert]").length === 1, "an error");
write("Password", PASSWORD);
await click("Sign in");
await reach(() => all("article").length === PAGE, "the first page");
await click("More");
await reach(() => all("article").length === PAGE + 2 && !button("More"), "the last page");

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
const publish = "mutation ($input: PublishInput!) { publish(input: $input) { userErrors { code } } }";
await ask(publish, { input: { content: "for followers", visibility: "FOLLOWERS" } }, writer.token);
await reach(() => post("for followers"), "a live entry");
act(() => button("reposts", post("for followers")).click());
assert.equal(reposts("for followers"), "1 reposts true");
await reach(() => post("for followers").querySelector("[role=alert]"), "an error");
assert.equal(reposts("for followers"), "0 reposts false");

// Replies.
await click("replies", post("live"));
await reach(() => post("live").querySelector("textarea"), "a thread");
write("Post", "reply", post("live"));
await click("Publish", post("live"));
await reach(() => button("1 replies", post("live")), "the number of replies");
await reach(() => all("section article", post("live")).length === 1, "the reply");
await ask(publish, { input: { content: "theirs", inReplyTo: live } }, other.token);
write("Post", "second", post("live"));
await click("Publish", post("live"));
await reach(() => all("section article", post("live")).length === 3, "the replies");

// A follow in another client, and one in this.
const theirs = () => all("section article", post("live"))[1]!;
assert.ok(button("Follow", theirs()));
await reader.follow(other);
await reach(() => button("Unfollow", theirs()), "a follow in another client");

// Without a cache.
const { watchHome } = await file("live.ts");
let entries: readonly (Entry & { node: { content: string } })[] = [];
let hasMore = false;
const home = watchHome((shown: typeof entries, more: boolean) => ([entries, hasMore] = [shown, more]));
await reach(() => entries.length === PAGE && hasMore, "a page");
await act(() => home.loadMore());
await writer.publish("last");
await reach(() => entries[0]?.node.content === "last" && !hasMore, "a live entry without a cache");
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
