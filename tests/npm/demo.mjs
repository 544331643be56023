// Tests the demo in a browser:
//
//     node demo.mjs <origin> <directory for screenshots>

import { hold, Wire } from "./network.mjs";
import { expect, mainLink, origin, PASSWORD, report, request, run, tokenOf, until, Visitor } from "./visitor.mjs";

/** Returns the ids of the newest posts of a timeline, from the API. A later repost lists a post again. */
async function timelineOf(token, count) {
  const query =
    "query ($after: String) { viewer { timeline(first: 50, after: $after) { nodes { id } pageInfo { endCursor } } } }";
  const ids = new Set();
  let after = null;
  while (ids.size < count) {
    const { nodes, pageInfo } = (await request(query, { after }, token)).viewer.timeline;
    expect(nodes.length > 0, `the timeline has only ${ids.size} posts`);
    for (const { id } of nodes) ids.add(id);
    after = pageInfo.endCursor;
  }
  return [...ids].slice(0, count);
}

/** Finds a user who follows the viewer, is not followed back, and has posted. */
async function followerToFollow(token) {
  const query = `{
    viewer { user { followers(first: 100) { nodes { username relation { status } postCount } } } }
  }`;
  const { nodes } = (await request(query, {}, token)).viewer.user.followers;
  const found = nodes.find(({ relation, postCount }) => relation.status === "FOLLOWER" && postCount > 0);
  expect(found, "every follower is followed back");
  return found.username;
}

// ---- Steps ----

async function scrolls(ada, token) {
  const MIN_POSTS = 201;
  while ((await ada.posts().count()) < MIN_POSTS) {
    const before = await ada.posts().count();
    await ada.posts().last().scrollIntoViewIfNeeded();
    await until(async () => (await ada.posts().count()) > before, `more than ${before} posts`);
  }
  const shown = await ada.shown();
  expect(new Set(shown).size === shown.length, "a post is shown twice");
  const expected = await timelineOf(token, shown.length);
  expect(shown.join() === expected.join(), "the posts differ from those of the API");
  report(`scrolled past 200 posts: no duplicates, no gaps`);
  await ada.page.evaluate(() => scrollTo(0, 0));
}

/** Follows a user of the list of followers, checks all places that show the relation, and unfollows them again. */
async function followsBack(ada, username) {
  const { page } = ada;
  await ada.follow(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Profile" }));
  await page.getByRole("navigation", { name: "Profile" }).getByRole("link", { name: "Followers" }).click();
  const person = page.locator(`li.person[data-username=${username}]`);
  await until(async () => {
    await page.locator("li.person").last().scrollIntoViewIfNeeded();
    return person.isVisible();
  }, `@${username} is among the followers`);

  const held = await hold(page, "Follow");
  await person.getByRole("button", { name: "Follow back" }).click();
  await until(
    async () => (await ada.badges(person)).join() === "Mutual",
    "the badge changes before the server has responded",
  );
  await held.release();
  await person.getByRole("button", { name: "Unfollow" }).waitFor();
  report("followed a follower: the badge changed before the server had responded");

  await ada.follow(person.getByRole("link"));
  const header = page.locator(".profile-header");
  await until(async () => (await ada.badges(header)).join() === "Mutual", "the profile shows the new relation, too");
  await page.goBack();
  await person.waitFor();
  expect((await ada.badges(person)).join() === "Mutual", "the list no longer shows the new relation");

  await ada.follow(person.getByRole("link"));
  await ada.posts().first().waitFor();
  // A repost has the badge of another author.
  const own = page.locator(".profile-header, article:not(:has(.reposted-by))");
  const count = (await ada.badges(own)).length;
  expect(count > 1, "the profile does not show the relation in its head and at each post");
  await header.getByRole("button", { name: "Unfollow" }).click();
  await until(
    async () => (await ada.badges(own)).every((badge) => badge === "Follows you"),
    "all badges of the profile change",
  );
  await until(() => ada.relationEvents === 2, "both changes are received as events");
  expect(!ada.operations.includes("ViewerCounts"), "the counts are refetched, although the responses have them");
  report(`the profile shows the relation, too, and all its ${count} badges change at once`);
}

async function failsToFollow(ada, username) {
  const { page } = ada;
  await page.goBack();
  const person = page.locator(`li.person[data-username=${username}]`);
  await until(async () => (await ada.badges(person)).join() === "Follows you", "the list shows the change");
  await ada.disturbed(async () => {
    const held = await hold(page, "Follow");
    await person.getByRole("button", { name: "Follow back" }).click();
    await until(async () => (await ada.badges(person)).join() === "Mutual", "the badge changes at first");
    await held.abort();
    await page.getByRole("alert").filter({ hasText: "could not be followed" }).waitFor();
  });
  await until(async () => (await ada.badges(person)).join() === "Follows you", "the badge changes back");
  await ada.audit("followers");
  await page.getByRole("alert").getByRole("button", { name: "OK" }).click();
  report("a follow that did not reach the server was rolled back and reported");
}

async function publishes(ada, friend) {
  const [first, second] = ["first", "second"].map((which) => `The ${which} post of visit ${Date.now()}`);
  await ada.follow(ada.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Home" }));
  await ada.publish(first);
  await friend.post(first).waitFor();
  report("a post arrived at a follower who had the page open");

  await friend.posts().nth(12).scrollIntoViewIfNeeded();
  await friend.page.evaluate(() => scrollTo(0, 1_500));
  await until(() => friend.page.evaluate(() => scrollY > 1_000), "the follower has scrolled down");
  const placeOf = () =>
    friend
      .posts()
      .nth(12)
      .evaluate((post) => post.getBoundingClientRect().top);
  const place = await placeOf();
  await ada.publish(second);
  const waiting = friend.page.getByRole("button", { name: "1 new post" });
  await waiting.waitFor();
  expect((await placeOf()) === place, "the posts on the follower's screen have moved");
  await friend.audit("home-waiting");
  await waiting.click();
  await friend.post(second).waitFor();
  report("a post waited while the follower read further down, and nothing moved");

  for (const content of [first, second]) {
    await ada.remove(content);
    await friend.post(content).waitFor({ state: "detached" });
  }
  report("deleted posts were removed for the author and the follower");
}

/** Mutes a user at one of their posts, and unmutes them in the settings. */
async function mutes(ada, friend, { username, displayName }) {
  const { page } = ada;
  const [before, during] = ["before", "during"].map((when) => `A post ${when} the mute, at ${Date.now()}`);
  await friend.publish(before);
  await ada.post(before).waitFor();
  const posts = ada.posts().filter({ hasText: `@${username}` });
  const shown = await posts.count();
  await ada
    .post(before)
    .getByRole("button", { name: `Mute ${displayName}` })
    .click();
  await until(async () => (await posts.count()) === 0, "no post of the muted user is shown");
  await friend.publish(during);
  await ada.publish(`A post of my own, at ${Date.now()}`);
  expect((await posts.count()) === 0, "a post of the muted user has arrived");
  report(`muted a user: ${shown} posts vanished, and no new one arrived`);

  await ada.open(`/@${username}`);
  await ada.post(during).waitFor();
  await page.getByText("Muted since").waitFor();
  await ada.audit("muted-profile");
  await ada.open("/settings");
  const row = page.locator(`li[data-username=${username}]`);
  await row.waitFor();
  await ada.audit("muted-users");
  await row.getByRole("button", { name: `Unmute ${displayName}` }).click();
  await row.waitFor({ state: "detached" });
  await ada.follow(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Home" }));
  await ada.post(during).waitFor();
  await ada.post(before).waitFor();
  report("unmuted the user in the settings: the posts are back");
}

/** Blocks a user at one of their posts, and unblocks them in the settings. */
async function blocks(ada, friend, { username, displayName }) {
  const { page } = ada;
  const person = page.locator(`li.person[data-username=${username}]`);
  const openFollowing = async () => {
    await ada.follow(mainLink(ada, "Profile"));
    await page.getByRole("navigation", { name: "Profile" }).getByRole("link", { name: "Following" }).click();
    await page.getByRole("region", { name: "Following" }).locator("li.person").first().waitFor();
  };
  await openFollowing();
  while (!(await person.isVisible())) await page.locator("li.person").last().scrollIntoViewIfNeeded();
  await page.evaluate(() => (globalThis.isSamePage = true));

  await ada.follow(mainLink(ada, "Home"));
  const content = `A post before the block, at ${Date.now()}`;
  await friend.publish(content);
  await ada.post(content).waitFor();
  const posts = ada.posts().filter({ hasText: `@${username}` });
  await ada
    .post(content)
    .getByRole("button", { name: `Block ${displayName}` })
    .click();
  const question = page.getByRole("group", { name: `Block ${displayName}?` });
  await ada.audit("block");
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await question.getByRole("button", { name: "Block" }).click();
  await until(async () => (await posts.count()) === 0, "no post of the blocked user is shown");
  await until(
    () => page.evaluate(() => document.activeElement?.tagName === "ARTICLE"),
    "the focus is on the next post",
  );
  await openFollowing();
  expect(!(await person.isVisible()), "the blocked user is still in a list");
  expect(await page.evaluate(() => globalThis.isSamePage), "the page was reloaded");
  report("blocked a user: their posts and their entries in lists vanished at once");

  await ada.open(`/@${username}`);
  await page.getByText("You block this user").waitFor();
  expect((await ada.posts().count()) === 0, "a blocked profile has posts");
  await ada.audit("blocked-profile");
  await friend.open("/@ada");
  await friend.page.getByText("There is no user @ada.").waitFor();
  await ada.open("/settings");
  const row = page.locator(`li[data-username=${username}]`);
  await row.waitFor();
  await ada.audit("blocked-users");
  await row.getByRole("button", { name: `Unblock ${displayName}` }).click();
  await row.waitFor({ state: "detached" });
  await friend.open("/@ada");
  await friend.posts().first().waitFor();
  await ada.open(`/@${username}`);
  await ada.post(content).waitFor();
  report("unblocked the user in the settings: both profiles are back");
}

/** Requests to follow a user whose account is private, withdraws the request, and requests again; the user accepts. */
async function requests(ada, friend, { username, displayName }) {
  await friend.open("/settings");
  await friend.page.getByRole("switch", { name: "Private account" }).check();
  await until(
    async () => (await request(`{ user(by: { username: "${username}" }) { isPrivate } }`)).user.isPrivate,
    "the account is private",
  );
  await friend.audit("private-account");
  await friend.follow(mainLink(friend, "Requests"));

  await ada.open(`/@${username}`);
  const header = ada.page.locator(".profile-header");
  const follow = header.getByRole("button", { name: "Follow", exact: false });
  const row = friend.page.locator("li[data-username=ada]");
  await ada.page.getByText("This account is private").waitFor();
  await follow.click();
  await row.waitFor();
  await mainLink(friend, /^Requests\W+1 request$/).waitFor();
  await ada.audit("requested-profile");
  await friend.audit("received-request");
  await header.getByRole("button", { name: `withdraw the request to follow ${displayName}` }).click();
  await row.waitFor({ state: "detached" });
  report("a request to follow a private account arrived at once, and was withdrawn");

  await follow.click();
  await row.getByRole("button", { name: "Accept" }).click();
  await row.waitFor({ state: "detached" });
  await ada.posts().first().waitFor();
  expect((await ada.badges(header)).includes("Following"), "the accepted request is not shown as a follow");
  await mainLink(friend, /^Requests\W+1 request$/).waitFor({ state: "detached" });
  report("a request was accepted: the posts appeared in the other window at once");
}

async function losesConnection(ada, friend, wire) {
  const content = `Published while a follower was disconnected ${Date.now()}`;
  await friend.disturbed(async () => {
    wire.cut();
    await friend.page.getByText("Connection lost").waitFor();
    await ada.publish(content);
    expect((await friend.post(content).count()) === 0, "a post arrived without a connection");
    wire.repair();
    await friend.post(content).waitFor();
    await friend.page.getByText("Connection restored").waitFor();
  });
  expect((await friend.post(content).count()) === 1, "the post arrived more than once");
  await ada.remove(content);
  await friend.post(content).waitFor({ state: "detached" });
  report("after a lost connection the timeline resumed, with the missed events");
}

/** Signs in as a new user who follows a user without posts, and is disconnected when the first post is published. */
async function beginsFromNothing(browser, wire) {
  const register = `mutation ($input: RegisterInput!) {
    register(input: $input) { token viewer { user { id username } } }
  }`;
  const [writer, reader] = await Promise.all(
    ["writer", "reader"].map(async (role) => {
      const input = { username: `${role}_${Date.now()}`, password: PASSWORD };
      return (await request(register, { input })).register;
    }),
  );
  const follow = "mutation ($input: FollowInput!) { follow(input: $input) { userErrors { message } } }";
  await request(follow, { input: { userId: writer.viewer.user.id } }, reader.token);

  const visitor = await Visitor.arrive(browser, reader.viewer.user.username, wire.origin);
  const { page } = visitor;
  await visitor.signInAs(visitor.name);
  await page.getByText("Nothing here yet").waitFor();
  const content = `The first post of all ${Date.now()}`;
  await visitor.disturbed(async () => {
    wire.cut();
    await page.getByText("Connection lost").waitFor();
    const publish = "mutation ($input: PublishInput!) { publish(input: $input) { post { id } } }";
    await request(publish, { input: { content } }, writer.token);
    wire.repair();
    await visitor.post(content).waitFor();
  });
  await visitor.context.close();
  report("a post published while a user with an empty timeline was disconnected arrived, too");
}

/** Writes the next post while one is being published. */
async function writesWhilePublishing(ada) {
  const content = `Published while more is written ${Date.now()}`;
  const box = ada.page.getByRole("textbox", { name: "What do you want to say?" });
  const held = await hold(ada.page, "Publish");
  await box.fill(content);
  await ada.page.getByRole("button", { name: "Publish" }).click();
  await box.fill("The next post");
  await held.release();
  await ada.post(content).waitFor();
  expect((await box.inputValue()) === "The next post", "the text written meanwhile is lost");
  await box.fill("");
  await ada.remove(content);
  report("the text written while a post was published was kept");
}

async function fallsFarBehind(friend, wire, token) {
  /** More events than a subscription can resume over. */
  const POSTS = 1_001;
  const BATCH = 13;
  const publish = "mutation ($input: PublishInput!) { publish(input: $input) { post { id } } }";
  await friend.disturbed(async () => {
    wire.cut();
    for (let number = 0; number < POSTS; number += BATCH) {
      const contents = Array.from({ length: BATCH }, (_, index) => `Number ${number + index} of very many`);
      await Promise.all(contents.map((content) => request(publish, { input: { content } }, token)));
    }
    const { publish: last } = await request(publish, { input: { content: "The last of very many" } }, token);
    // Posts of one author are delivered a few at a time: only when all are, the reader is too far behind.
    const delivery = "query ($id: ID!) { post(id: $id) { delivery { deliveredCount totalCount } } }";
    await until(async () => {
      const { post } = await request(delivery, { id: last.post.id }, token);
      return post.delivery.deliveredCount === post.delivery.totalCount;
    }, "the last of very many is delivered");
    wire.repair();
    await friend.page.locator(`[data-post="${last.post.id}"]`).waitFor();
  });
  expect(friend.resyncs === 1, `the server required ${friend.resyncs} resyncs, not one`);
  const content = `After very many ${Date.now()}`;
  await request(publish, { input: { content } }, token);
  await friend.post(content).waitFor();
  const shown = await friend.shown();
  const expected = await timelineOf(await tokenOf(friend.name), shown.length);
  expect(shown.join() === expected.join(), "the refetched timeline differs from that of the API");
  report("too far behind to resume, the timeline was refetched and continued");
}

/** Opens a profile of which a part could not be loaded, and retries. */
async function losesPart(ada) {
  const { page } = ada;
  const path = ["user", "followersByRegion"];
  const error = { message: "Not available.", path, extensions: { code: "UNAVAILABLE", retryAfterSeconds: 60 } };
  const arrivals = {};
  const [profile, viewer] = ["Profile", "Viewer"].map((name) => new Promise((resolve) => (arrivals[name] = resolve)));
  const handler = async (route) => {
    const name = route.request().postDataJSON()?.operationName;
    if (!arrivals[name]) return route.continue();
    const response = await route.fetch();
    arrivals[name]({ route, response, data: (await response.json()).data });
  };
  await page.route("**/graphql", handler);
  const opened = ada.open("/@ada");
  const [{ data, ...of }, other] = await Promise.all([profile, viewer]);
  // The other response changes the same user at once, so that the cache repeats the result without its error.
  const user = { ...data.user, followersByRegion: null };
  const changed = { viewer: { ...other.data.viewer, user: { ...other.data.viewer.user, displayName: "Ada L." } } };
  await Promise.all([
    of.route.fulfill({ response: of.response, json: { data: { user }, errors: [error] } }),
    other.route.fulfill({ response: other.response, json: { data: changed } }),
  ]);
  await opened;
  const failure = page.getByRole("alert").filter({ hasText: error.message });
  await failure.waitFor();
  await page.getByRole("link", { name: "250 Followers" }).waitFor();
  await ada.audit("part-missing");
  await page.unroute("**/graphql", handler);
  await failure.getByRole("button", { name: "Retry now" }).click();
  await page.getByText("Based on 250 followers").waitFor();
  await failure.waitFor({ state: "detached" });
  report("a part that could not be loaded left the rest of its page, and was there after a retry");
}

async function isSignedOut(friend) {
  const token = await friend.page.evaluate(() => sessionStorage.getItem("fanfold.demo.token"));
  await friend.disturbed(async () => {
    await request("mutation { logout { userErrors { message } } }", {}, token);
    await friend.page.getByText("Your session has ended").waitFor();
  });
  await friend.audit("signed-out");
  report("a session that had ended led back to the sign-in page");
}

/** The views to audit, each with its path. */
const viewsOf = (friend) => ({
  "own-profile": "/@ada",
  profile: `/@${friend}`,
  following: `/@${friend}/following`,
  visitors: "/visitors",
  requests: "/requests",
  settings: "/settings",
  "not-found": "/@no_such_user",
});

async function visit(browser) {
  const { user } = await request(
    '{ user(by: { username: "ada" }) { displayName mutuals(first: 1) { nodes { username displayName } } } }',
  );
  const [mutual] = user.mutuals.nodes;
  const token = await tokenOf("ada");

  const ada = await Visitor.arrive(browser, "ada");
  await ada.page.getByRole("button", { name: user.displayName }).waitFor();
  await ada.audit("sign-in");
  await ada.signIn(user.displayName);
  const reads = ada.operations.filter((name) => name === "HomeTimeline").length;
  expect(reads === 1, `the home timeline is read ${reads} times: the last response may be older than the first event`);
  report(`signed in as ${user.displayName}`);
  await ada.audit("home");
  await scrolls(ada, token);

  const username = await followerToFollow(token);
  await followsBack(ada, username);
  await failsToFollow(ada, username);

  const wire = await Wire.to(new URL(origin));
  const friend = await Visitor.arrive(browser, mutual.username, wire.origin);
  await friend.signIn(mutual.displayName);
  await publishes(ada, friend);
  await mutes(ada, friend, mutual);
  await writesWhilePublishing(ada);
  await losesConnection(ada, friend, wire);

  await losesPart(ada);
  for (const [view, path] of Object.entries(viewsOf(mutual.username))) {
    await ada.open(path);
    await ada.audit(view);
  }

  await fallsFarBehind(friend, wire, token);
  // Forgets the posts that have arrived meanwhile: an audit of a thousand posts takes long.
  await ada.open("/");
  await blocks(ada, friend, mutual);
  await requests(ada, friend, mutual);
  await isSignedOut(friend);
  await friend.context.close();
  await beginsFromNothing(browser, wire);
  wire.close();

  await ada.page.getByRole("button", { name: "Sign out" }).click();
  await ada.page.getByRole("heading", { name: "Look around" }).waitFor();
  await request("mutation { logout { userErrors { message } } }", {}, token);
  report("signed out");
}

await run(visit);
