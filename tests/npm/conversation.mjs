// Tests conversations in the demo, in two windows:
//
//     node conversation.mjs <origin> <directory for screenshots>

import { expect, report, request, run, tokenOf, until, Visitor } from "./visitor.mjs";

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

/** Fills and sends the form with this accessible name. */
async function send(visitor, form, content) {
  const composer = visitor.page.getByRole("form", { name: form });
  await composer.getByRole("textbox").fill(content);
  await composer.getByRole("button", { name: "Publish" }).click();
}

/** Opens the page of a post that is shown. */
const openConversation = (visitor, post) => visitor.follow(post.locator(".post-head .quiet-link"));

async function talks(ada, friend, displayName) {
  const [post, reply, second] = ["A post", "A reply", "A second reply"].map((what) => `${what} at ${Date.now()}`);
  await ada.publish(post);
  await friend.post(post).waitFor();
  await friend.post(post).getByRole("button", { name: "Reply to" }).click();
  await friend.audit("reply-form");
  await send(friend, "Reply to", reply);
  await countsOf(friend.post(post).first(), "1 reply").waitFor();
  await friend.page.getByRole("form", { name: "Reply to" }).waitFor({ state: "detached" });
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
    await visitor.page.getByRole("link", { name: "1 Replies" }).waitFor();
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
  const comeBack = () => ada.page.evaluate(() => dispatchEvent(new Event("focus")));
  await comeBack();
  await replies(ada).filter({ hasText: content }).waitFor();
  await remove(other, reply);
  await comeBack();
  await replies(ada).filter({ hasText: content }).waitFor({ state: "detached" });
  report("a reply by a user who is not followed appeared on return to the page, and vanished after its deletion");
}

/** Replies to a post that has been deleted meanwhile. */
async function repliesTooLate(ada, follower) {
  const other = await tokenOf(follower.username);
  const post = await publish(other, { content: `A short-lived post at ${Date.now()}` });
  const reply = await publish(other, { content: `A reply to it at ${Date.now()}`, inReplyTo: post });
  await ada.open(`/posts/${post}`);
  await remove(other, post);
  const form = ada.page.getByRole("form", { name: "Reply to" });
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
  await repliesTooLate(ada, follower);
}

await run(converse);
