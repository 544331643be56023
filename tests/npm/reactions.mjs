// Tests likes and bookmarks in the demo, in two windows:
//
//     node reactions.mjs <origin> <directory for screenshots>

import { hold, Wire } from "./network.mjs";
import { expect, mainLink, origin, report, request, run, tokenOf, until, Visitor } from "./visitor.mjs";

/** The minimum size of a button, in pixels. */
const TARGET = 24;

async function publish(token, content) {
  const query = "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }";
  return (await request(query, { content }, token)).publish.post.id;
}

const remove = (token, postId) =>
  request("mutation ($postId: ID!) { deletePost(input: { postId: $postId }) { deletedPostId } }", { postId }, token);

const likesOf = async (postId) =>
  (await request("query ($postId: ID!) { post(id: $postId) { likeCount } }", { postId })).post.likeCount;

/** Returns a user whom Ada follows and who follows her. */
async function mutualOf(token) {
  const query = "{ viewer { user { mutuals(first: 1) { nodes { username displayName } } } } }";
  return (await request(query, {}, token)).viewer.user.mutuals.nodes[0];
}

/** Returns the button that likes a post. Its name contains the number of likes. */
const heart = (visitor, post, state) => visitor.post(post).getByRole("button", { name: /^Like /, ...state });
const bookmark = (visitor, post, state) => visitor.post(post).getByRole("button", { name: /^Bookmark /, ...state });

/** Waits until the heart of a post shows a number of likes, and if the viewer's is among them. */
async function showsLikes(visitor, post, count, pressed) {
  await heart(visitor, post, { pressed }).waitFor();
  const text = count > 0 ? `${count}` : "";
  await until(async () => (await heart(visitor, post).textContent()) === text, `${visitor.name} sees ${count} likes`);
}

const reload = ({ page }) => page.reload({ waitUntil: "networkidle" });

/** Opens a page of the main navigation, and returns the texts of its posts. */
async function listed(visitor, name) {
  await visitor.follow(mainLink(visitor, name));
  await visitor.page.waitForLoadState("networkidle");
  return () => visitor.posts().locator(".post-content").allTextContents();
}

/** Returns the contents of the posts that a user likes or has bookmarked, from the API. */
async function stored(token, name) {
  const field = name.toLowerCase();
  const query = `{ viewer { ${field}(first: 100) { nodes { content } } } }`;
  return (await request(query, {}, token)).viewer[field].nodes.map(({ content }) => content);
}

async function hasFocus(visitor) {
  return visitor.page.evaluate(() => document.activeElement !== document.body);
}

async function likes(ada, friend, mutual, post, content) {
  const held = await hold(friend.page, "Like");
  await heart(friend, content, { pressed: false }).click();
  await showsLikes(friend, content, 1, true);
  expect((await likesOf(post)) === 0, "the like has reached the server");
  await held.release();
  await until(async () => (await likesOf(post)) === 1, "the like reaches the server");
  await reload(ada);
  await showsLikes(ada, content, 1, false);
  await heart(ada, content).click();
  await showsLikes(ada, content, 2, true);
  for (const visitor of [friend, ada]) {
    await reload(visitor);
    await showsLikes(visitor, content, 2, true);
  }
  report("a like showed before the server had responded, and in the other window after a reload");

  for (const button of [heart(friend, content), bookmark(friend, content)]) {
    const { width, height } = await button.boundingBox();
    expect(width >= TARGET && height >= TARGET, `a button has only ${width} by ${height} pixels`);
  }

  await ada.open(`/posts/${post}`);
  await ada.page.getByRole("link", { name: "2 Likes" }).click();
  const person = ada.page.getByRole("region", { name: "Likes" }).getByRole("listitem");
  await person.filter({ hasText: `@${mutual.username}` }).waitFor();
  await person.filter({ hasText: "@ada" }).waitFor();
  await ada.audit("liked-by");
  await ada.page
    .getByRole("region", { name: "Post", exact: true })
    .getByRole("button", { name: /^Like / })
    .click();
  await person.filter({ hasText: "@ada" }).waitFor({ state: "detached" });
  await ada.page.getByRole("link", { name: "1 Like" }).waitFor();
  report("the page of the post listed the users who like it");
}

async function clicksQuickly(ada, friend, post, content) {
  await until(async () => (await likesOf(post)) === 1, "only the friend likes the post");
  await reload(friend);
  await showsLikes(friend, content, 1, true);
  const held = await hold(friend.page, "Unlike");
  friend.operations.length = 0;
  for (const [count, pressed] of [
    [0, false],
    [1, true],
    [0, false],
    [1, true],
    [0, false],
  ]) {
    await heart(friend, content).click();
    await showsLikes(friend, content, count, pressed);
  }
  await held.release();
  await until(async () => (await likesOf(post)) === 0, "the like is taken back");
  await friend.page.waitForLoadState("networkidle");
  const sent = friend.operations.filter((name) => ["Like", "Unlike"].includes(name));
  expect(sent.join() === "Unlike", `clicks have sent ${sent.join()}`);
  await ada.page.goto(`${ada.origin}/demo/`);
  for (const visitor of [ada, friend]) {
    await reload(visitor);
    await showsLikes(visitor, content, 0, false);
  }
  report("quick clicks showed at once, sent what was wanted last, and counted once");
}

/** Bookmarks and likes two posts, and takes that back on the pages that list them. */
async function keeps(ada, friend, contents) {
  const token = await tokenOf(friend.name);
  await mainLink(friend, "Home").click();
  for (const content of contents) {
    await bookmark(friend, content, { pressed: false }).click();
    await heart(friend, content, { pressed: false }).click();
    // Entries are ordered by the second.
    await friend.page.waitForTimeout(1_100);
  }
  await reload(friend);
  for (const content of contents) await bookmark(friend, content, { pressed: true }).waitFor();
  await reload(ada);
  for (const content of contents) await bookmark(ada, content, { pressed: false }).waitFor();
  for (const [name, buttonOf] of [
    ["Bookmarks", bookmark],
    ["Likes", heart],
  ]) {
    const texts = await listed(friend, name);
    const newest = [...contents].reverse();
    await until(async () => (await texts()).slice(0, 2).join() === newest.join(), `${name} begin with ${newest}`);
    await friend.audit(name.toLowerCase());
    await reload(friend);
    await until(async () => (await texts()).slice(0, 2).join() === newest.join(), `${name} begin with ${newest}`);
    await buttonOf(friend, newest[0], { pressed: true }).click();
    await friend.post(newest[0]).waitFor({ state: "detached" });
    await until(() => hasFocus(friend), "the focus is on a neighbour of the post");
    await buttonOf(friend, newest[1], { pressed: true }).click();
    await friend.post(newest[1]).waitFor({ state: "detached" });
    const isTakenBack = (kept) => !kept.some((content) => contents.includes(content));
    await until(async () => isTakenBack(await stored(token, name)), `the server lists no ${name} of the test`);
    await reload(friend);
    await until(async () => isTakenBack(await texts()), `the page lists no ${name} of the test`);
  }
  const texts = await listed(ada, "Bookmarks");
  expect(!(await texts()).some((text) => contents.includes(text)), "a bookmark shows to another user");
  report("the pages of bookmarks and likes listed the newest first, and lost what was taken back");
}

async function fails(friend, wire, token, post, content) {
  await mainLink(friend, "Home").click();
  await heart(friend, content, { pressed: false }).waitFor();
  await friend.disturbed(async () => {
    wire.cut();
    await heart(friend, content).click();
    await bookmark(friend, content).click();
    await friend.page.getByText("The post could not be liked. The server cannot be reached.").waitFor();
    await friend.page.getByText("The post could not be bookmarked. The server cannot be reached.").waitFor();
    await showsLikes(friend, content, 0, false);
    await bookmark(friend, content, { pressed: false }).waitFor();
    wire.repair();
    await friend.page.locator('[data-connection="lost"]').waitFor({ state: "detached" });
  });
  await heart(friend, content).click();
  await showsLikes(friend, content, 1, true);
  await until(async () => (await likesOf(post)) === 1, "the like reaches the server");
  await reload(friend);
  await showsLikes(friend, content, 1, true);
  report("a like that did not reach the server was rolled back and reported, and counted once when it was repeated");

  // The post is deleted by a request that is not shown yet.
  const gone = `A post that is gone at ${Date.now()}`;
  const goneId = await publish(token, gone);
  await friend.post(gone).waitFor();
  const held = await hold(friend.page, "Bookmark");
  await bookmark(friend, gone).click();
  await bookmark(friend, gone, { pressed: true }).waitFor();
  await remove(token, goneId);
  await held.release();
  await friend.page.getByText("The post could not be bookmarked. This post does not exist.").waitFor();
  report("a bookmark that the server rejected was reported");
}

async function react(browser) {
  const token = await tokenOf("ada");
  const { viewer } = await request("{ viewer { user { displayName } } }", {}, token);
  const mutual = await mutualOf(token);
  const wire = await Wire.to(new URL(origin));
  const ada = await Visitor.arrive(browser, "ada");
  await ada.signIn(viewer.user.displayName);
  const friend = await Visitor.arrive(browser, mutual.username, wire.origin);
  await friend.signInAs(mutual.username);
  const contents = ["A post to like", "Another post to like"].map((what) => `${what} at ${Date.now()}`);
  const posts = [];
  for (const content of contents) {
    posts.push(await publish(token, content));
    await friend.post(content).waitFor();
  }
  await ada.post(contents[1]).waitFor();
  await likes(ada, friend, mutual, posts[0], contents[0]);
  await clicksQuickly(ada, friend, posts[0], contents[0]);
  await keeps(ada, friend, contents);
  await fails(friend, wire, token, posts[0], contents[0]);
  wire.close();
}

await run(react);
