// Tests conversations in the demo, in two windows:
//
//     node conversation.mjs <origin> <directory for screenshots>

import { expect, mainLink, report, request, run, tokenOf, until, Visitor } from "./visitor.mjs";

const PUBLISH = `mutation ($input: PublishInput!) {
  publish(input: $input) { post { id } userErrors { message } }
}`;

async function publish(token, input) {
  const { post, userErrors } = (await request(PUBLISH, { input }, token)).publish;
  expect(post, `a post is rejected: ${JSON.stringify(userErrors)}`);
  return post.id;
}

const remove = (token, postId) =>
  request("mutation ($postId: ID!) { deletePost(input: { postId: $postId }) { deletedPostId } }", { postId }, token);

const setPrivate = (token, isPrivate) =>
  request(
    "mutation ($isPrivate: Boolean!) { updateProfile(input: { isPrivate: $isPrivate }) { userErrors { code } } }",
    { isPrivate },
    token,
  );

/** Returns a user whom Ada follows and who follows her, and a follower whom she does not follow. */
async function peopleOf(token) {
  const { viewer } = await request(
    "{ viewer { user { followers(first: 100) { nodes { username displayName relation { status } } } } } }",
    {},
    token,
  );
  const { nodes } = viewer.user.followers;
  return ["MUTUAL", "FOLLOWER"].map((status) => nodes.find(({ relation }) => relation.status === status));
}

const countsOf = (post, text) => post.getByRole("link", { name: text });
const replies = ({ page }) => page.getByRole("feed", { name: "Replies" }).locator("article");

const formOf = ({ page }, name) => page.getByRole("form", { name });

/** Fills and sends the form with this accessible name. */
async function send(visitor, form, content, action = "Publish") {
  await formOf(visitor, form).getByRole("textbox").fill(content);
  await formOf(visitor, form).getByRole("button", { name: action }).click();
}

/** Returns to the page: what no event reports is refreshed. */
const comeBack = ({ page }) => page.evaluate(() => dispatchEvent(new Event("focus")));

/** Opens the page of a post that is shown. */
const openConversation = (visitor, post) => visitor.follow(post.locator(".post-head a.quiet-link"));

/** Corrects a reply that both windows show. */
async function edits(ada, friend, content) {
  const own = replies(friend).filter({ hasText: content });
  const edit = own.getByRole("button", { name: "Edit this post" });
  await edit.click();
  const box = formOf(friend, "Edit this post").getByRole("textbox");
  expect((await box.inputValue()) === content, "the form does not have the text of the post");
  await friend.audit("edit-form");
  await send(friend, "Edit this post", "", "Save");
  await formOf(friend, "Edit this post").locator(".field-error").waitFor();
  await box.press("Escape");
  await until(
    () => edit.evaluate((button) => button === document.activeElement),
    "the focus is on the button that opened the form",
  );
  await own.waitFor();
  await edit.click();
  const corrected = `${content}, corrected`;
  await send(friend, "Edit this post", corrected, "Save");
  for (const visitor of [friend, ada]) {
    if (visitor === ada) await comeBack(ada);
    const edited = replies(visitor).filter({ hasText: corrected });
    await edited.getByRole("button", { name: "edited just now" }).click();
    const earlier = edited.getByRole("region", { name: "Earlier versions" }).getByRole("listitem");
    await earlier.getByText(content, { exact: true }).waitFor();
    expect((await earlier.count()) === 1, "there are other earlier versions");
  }
  await ada.audit("history");
  report("an edit appeared in the other window on return to the page, with the earlier version");
}

async function talks(ada, friend, displayName) {
  const [post, reply, second] = ["A post", "A reply", "A second reply"].map((what) => `${what} at ${Date.now()}`);
  await ada.publish(post);
  await friend.post(post).waitFor();
  await friend.post(post).getByRole("button", { name: "Reply to" }).click();
  await friend.audit("reply-form");
  await send(friend, "Reply to", reply);
  await countsOf(friend.post(post).first(), "1 reply").waitFor();
  await formOf(friend, "Reply to").waitFor({ state: "detached" });
  const arrived = ada.post(reply);
  await arrived.getByText("Replying to @ada").waitFor();
  await countsOf(ada.post(post).first(), "1 reply").waitFor();
  report("a reply from the card of a post arrived, and was counted in both windows");

  await openConversation(ada, ada.post(post).first());
  await replies(ada).filter({ hasText: reply }).waitFor();
  await ada.audit("conversation");
  await openConversation(friend, friend.post(post).last());
  await send(friend, "Reply to", second);
  await replies(ada).filter({ hasText: second }).waitFor();
  await ada.page.getByRole("link", { name: "2 Replies" }).waitFor();
  await ada.page.getByRole("button", { name: "Newest first" }).click();
  await until(
    async () => (await replies(ada).allTextContents()).map((text) => text.includes(second)).join() === "true,false",
    "the newest reply is the first",
  );
  report("a reply appeared in an open conversation without a reload");

  await edits(ada, friend, second);

  await openConversation(ada, replies(ada).filter({ hasText: second }));
  const above = ada.page.getByRole("feed", { name: "Posts above" }).locator("article");
  await above.filter({ hasText: post }).waitFor();
  expect((await above.count()) === 1, "there are other posts above the reply");
  await ada.audit("reply");
  await ada.page.goBack();
  report("the page of a reply showed the post above it");

  await replies(ada)
    .filter({ hasText: second })
    .getByRole("button", { name: `Quote ${displayName}` })
    .click();
  await ada.audit("quote-form");
  const quote = `A quote at ${Date.now()}`;
  await send(ada, "Quote", quote);
  await friend.page.goto(`${friend.origin}/demo/`);
  await friend.post(quote).locator("blockquote").getByText(second).waitFor();
  await ada.page.goto(`${ada.origin}/demo/`);
  await ada.post(quote).locator("blockquote").getByText(second).waitFor();
  await ada.audit("quoted");
  report("a quote showed the quoted post");

  await friend.page.goBack();
  await ada.page.goBack();
  await replies(ada).filter({ hasText: second }).waitFor();
  const own = replies(friend).filter({ hasText: second });
  await own.getByRole("button", { name: "Delete this post" }).click();
  await own.getByRole("button", { name: "Delete forever" }).click();
  for (const visitor of [ada, friend]) {
    await replies(visitor).filter({ hasText: second }).waitFor({ state: "detached" });
    await visitor.page.getByRole("link", { name: "1 Reply" }).waitFor();
  }
  await ada.page.goto(`${ada.origin}/demo/`);
  await ada.post(quote).getByText("The quoted post is not available.").waitFor();
  report("a deleted reply vanished from the open conversation, and from the quote");
}

/** Events report posts by followed users only: others appear when the user returns to the page. */
async function refreshes(ada, token, follower) {
  const other = await tokenOf(follower.username);
  const post = await publish(token, { content: `Another post at ${Date.now()}` });
  await ada.open(`/posts/${post}`);
  await ada.page.getByText("No replies yet.").waitFor();
  const content = `A reply by a stranger at ${Date.now()}`;
  const reply = await publish(other, { content, inReplyTo: post });
  await comeBack(ada);
  await replies(ada).filter({ hasText: content }).waitFor();
  await remove(other, reply);
  await comeBack(ada);
  await replies(ada).filter({ hasText: content }).waitFor({ state: "detached" });
  report("a reply by a user who is not followed appeared on return to the page, and vanished after its deletion");
}

/** Reposts a post by a user whom Ada does not follow, and takes that back. */
async function reposts(ada, friend, mutual, follower) {
  const other = await tokenOf(follower.username);
  const content = `A post worth repeating at ${Date.now()}`;
  const post = await publish(other, { content });
  await mainLink(ada, "Home").click();
  await friend.open(`/posts/${post}`);
  const repost = (state) => friend.page.getByRole("button", { name: `Repost ${follower.displayName}`, ...state });
  await repost({ pressed: false }).click();
  await repost({ name: `Repost ${follower.displayName}: 1 repost`, pressed: true }).waitFor();
  await ada.post(content).getByText(`Reposted by ${mutual.displayName}`).waitFor();
  await ada.audit("reposted");
  report("a repost arrived with the name of the user who reposted");

  await openConversation(ada, ada.post(content));
  await ada.page.getByRole("link", { name: "1 Repost" }).click();
  const listed = ada.page.getByRole("region", { name: "Reposts" }).getByRole("listitem");
  await listed.filter({ hasText: `@${mutual.username}` }).waitFor();
  await ada.audit("reposts");
  report("the page of the post listed the user who reposted");

  await mainLink(ada, "Home").click();
  await ada.post(content).waitFor();
  await repost({ pressed: true }).click();
  await friend.page.getByRole("link", { name: "0 Reposts" }).waitFor();
  await ada.post(content).waitFor({ state: "detached" });
  await ada.open(`/posts/${post}`);
  await ada.page.getByRole("link", { name: "0 Reposts" }).click();
  await ada.page.getByText("No reposts yet.").waitFor();
  report("a repost that was undone vanished at once");

  await setPrivate(other, true);
  await repost({ pressed: false }).click();
  await friend.page.getByText("The post could not be reposted.").waitFor();
  await repost({ pressed: false }).waitFor();
  await setPrivate(other, false);
  report("a repost that the server rejected was rolled back and reported");
}

/** Replies to a post that has been deleted meanwhile. */
async function repliesTooLate(ada, follower) {
  const other = await tokenOf(follower.username);
  const post = await publish(other, { content: `A short-lived post at ${Date.now()}` });
  const reply = await publish(other, { content: `A reply to it at ${Date.now()}`, inReplyTo: post });
  await ada.open(`/posts/${post}`);
  await remove(other, post);
  const form = formOf(ada, "Reply to");
  await send(ada, "Reply to", "Too late");
  await form.getByText("This post does not exist.").waitFor();
  expect((await form.getByRole("textbox").inputValue()) === "Too late", "the rejected reply is lost");
  await ada.open(`/posts/${reply}`);
  await ada.page.getByText("Replying to a post that is not available").waitFor();
  await ada.open(`/posts/${post}`);
  await ada.page.getByText("This post does not exist, or you cannot see it.").waitFor();
  report("a reply to a deleted post was rejected in its form");
}

async function converse(browser) {
  const token = await tokenOf("ada");
  const [mutual, follower] = await peopleOf(token);
  const { viewer } = await request("{ viewer { user { displayName } } }", {}, token);
  const ada = await Visitor.arrive(browser, "ada");
  await ada.signIn(viewer.user.displayName);
  const friend = await Visitor.arrive(browser, mutual.username);
  await friend.signInAs(mutual.username);
  await talks(ada, friend, mutual.displayName);
  await refreshes(ada, token, follower);
  await reposts(ada, friend, mutual, follower);
  await repliesTooLate(ada, follower);
}

await run(converse);
