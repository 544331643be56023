// A visitor of the demo, in a browser:
//
//     node demo.mjs <origin> <directory for screenshots>
//
// The origin serves the demo and a world of `fanfold demo`. Each thing that was seen is told in a line. What was
// expected and not seen ends the visit with what it was.

import { mkdirSync } from "node:fs";
import { connect, createServer } from "node:net";

import { barriers, end, launch, open } from "./browser.mjs";

const [origin, directory] = process.argv.slice(2);
const PASSWORD = "demo-password";
/** A desk and a small phone. */
const SIZES = { desk: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } };
const SCHEMES = ["light", "dark"];
const PATIENCE = 60_000;

const say = (line) => console.log(line);

function expect(isSo, what) {
  if (!isSo) throw new Error(what);
}

/** Waits until something is so. */
async function until(isSo, what) {
  const end = Date.now() + PATIENCE;
  while (!(await isSo())) {
    expect(Date.now() < end, `not within ${PATIENCE / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Asks the API itself. */
async function ask(query, variables, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  expect(!errors, `the API answers ${JSON.stringify(errors)}`);
  return data;
}

async function tokenOf(username) {
  const query = "mutation ($input: LoginInput!) { login(input: $input) { token } }";
  const { login } = await ask(query, { input: { username, password: PASSWORD, label: "demo test" } });
  return login.token;
}

/** The newest posts of a timeline, as the API tells them. */
async function timelineOf(token, count) {
  const query =
    "query ($after: String) { viewer { timeline(first: 50, after: $after) { nodes { id } pageInfo { endCursor } } } }";
  const ids = [];
  let after = null;
  while (ids.length < count) {
    const { nodes, pageInfo } = (await ask(query, { after }, token)).viewer.timeline;
    expect(nodes.length > 0, `the timeline has only ${ids.length} posts`);
    ids.push(...nodes.map(({ id }) => id));
    after = pageInfo.endCursor;
  }
  return ids.slice(0, count);
}

/** Somebody who follows the viewer, is not followed back, and has posted. */
async function followerToFollow(token) {
  const query = `{
    viewer { user { followers(first: 100) { nodes { username relation { status } posts(first: 1) { totalCount } } } } }
  }`;
  const { nodes } = (await ask(query, {}, token)).viewer.user.followers;
  const found = nodes.find(({ relation, posts }) => relation.status === "FOLLOWER" && posts.totalCount > 0);
  expect(found, "nobody follows without being followed");
  return found.username;
}

/** A wire to the server that can be cut. */
class Wire {
  isCut = false;
  ends = new Set();

  static async to({ hostname, port }) {
    const wire = new Wire();
    wire.server = createServer((near) => wire.join(near, connect(Number(port), hostname)));
    await new Promise((resolve) => wire.server.listen(0, "127.0.0.1", resolve));
    wire.origin = `http://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  join(near, far) {
    for (const [end, other] of [
      [near, far],
      [far, near],
    ]) {
      this.ends.add(end);
      end.on("error", () => other.destroy());
      end.on("close", () => {
        other.destroy();
        this.ends.delete(end);
      });
      end.pipe(other);
    }
    if (this.isCut) near.destroy();
  }

  cut() {
    this.isCut = true;
    this.ends.forEach((end) => end.destroy());
  }

  mend() {
    this.isCut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

// ---- A visitor ----

const faults = [];

class Visitor {
  /** What a browser says of requests that this test breaks is no complaint. */
  isDisturbed = false;
  /** How often the server has asked to read the timeline anew. */
  resyncs = 0;
  /** How often it was told that a relation has changed. */
  relationEvents = 0;

  static async arrive(browser, name, at = origin) {
    const visitor = new Visitor();
    const page = await open(browser, at, faults, {
      isDisturbing: () => visitor.isDisturbed,
      viewport: SIZES.desk,
      reducedMotion: "reduce",
      colorScheme: "light",
    });
    Object.assign(visitor, { name, origin: at, context: page.context(), page });
    visitor.listen();
    await visitor.page.goto(`${at}/demo/`);
    return visitor;
  }

  listen() {
    this.page.on("websocket", (socket) => {
      socket.on("framereceived", ({ payload }) => {
        if (payload.includes("RESYNC_REQUIRED")) this.resyncs += 1;
        if (payload.includes('"relationChanged"')) this.relationEvents += 1;
      });
    });
  }

  /** Does something that makes the browser complain of the network. */
  async disturbed(work) {
    this.isDisturbed = true;
    await work();
    this.isDisturbed = false;
  }

  async signIn(name) {
    await this.page.getByRole("button", { name }).click();
    await this.posts().first().waitFor();
  }

  posts() {
    return this.page.getByRole("feed").locator("article");
  }

  /** The ids of the posts that are shown. */
  shown() {
    return this.posts().evaluateAll((posts) => posts.map((post) => post.dataset.post));
  }

  post(content) {
    return this.posts().filter({ hasText: content });
  }

  badges(within = this.page.locator("main")) {
    return within.locator(".badge").allTextContents();
  }

  /** Goes by a link of the page, and expects the focus to go along. */
  async follow(link) {
    await link.click();
    await until(
      () => this.page.evaluate(() => document.activeElement?.tagName === "H1"),
      "the focus is on the heading",
    );
  }

  async open(path) {
    await this.page.goto(`${this.origin}/demo${path}`);
    await this.page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
    await this.page.waitForLoadState("networkidle");
  }

  async publish(content) {
    await this.page.getByRole("textbox", { name: "What do you want to say?" }).fill(content);
    await this.page.getByRole("button", { name: "Publish" }).click();
    await this.post(content).waitFor();
  }

  async remove(content) {
    const post = this.post(content);
    await post.getByRole("button", { name: "Delete this post" }).click();
    await post.getByRole("button", { name: "Delete for ever" }).click();
    await post.waitFor({ state: "detached" });
  }

  /** Looks at the view in each size and scheme: takes its picture, and has axe judge it. */
  async audit(view) {
    const { page } = this;
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${directory}/${view}-${size}-${colorScheme}.png` });
        const where = `${view}, ${size}, ${colorScheme}`;
        const overhang = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(overhang <= 0, `${where} is ${overhang} px too wide`);
        const grave = await barriers(page);
        expect(grave.length === 0, `axe on ${where}: ${grave.join("; ")}`);
      }
    }
    await page.setViewportSize(SIZES.desk);
    await page.emulateMedia({ colorScheme: "light" });
    say(`${view}: nothing serious for axe, light and dark, 1280 and 360 px wide`);
  }
}

// ---- What a visitor does ----

async function scrolls(ada, token) {
  const WANTED = 201;
  while ((await ada.posts().count()) < WANTED) {
    const before = await ada.posts().count();
    await ada.posts().last().scrollIntoViewIfNeeded();
    await until(async () => (await ada.posts().count()) > before, `more than ${before} posts`);
  }
  const shown = await ada.shown();
  expect(new Set(shown).size === shown.length, "a post is shown twice");
  const expected = await timelineOf(token, shown.length);
  expect(shown.join() === expected.join(), "the posts are not those of the API, in their order");
  say(`scrolled past 200 posts: none twice, none left out`);
  await ada.page.evaluate(() => scrollTo(0, 0));
}

/** Holds back the answers to an operation until they are let go, or torn. */
async function hold(page, operation) {
  const held = [];
  const handler = (route) => {
    if (route.request().postDataJSON()?.operationName === operation) held.push(route);
    else void route.continue();
  };
  await page.route("**/graphql", handler);
  const each = async (act) => {
    await until(() => held.length > 0, `${operation} is sent`);
    await Promise.all(held.map(act));
    await page.unroute("**/graphql", handler);
  };
  return {
    letGo: () => each((route) => route.continue()),
    tear: () => each((route) => route.abort("connectionfailed")),
  };
}

/** Follows somebody of the list of followers, looks for it everywhere, and takes it back. */
async function followsBack(ada, username) {
  const { page } = ada;
  await ada.follow(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Profile" }));
  await page.getByRole("navigation", { name: "Profile" }).getByRole("link", { name: "Followers" }).click();
  const person = page.locator(`li.person[data-username=${username}]`);
  await until(async () => {
    await page.locator("li.person").last().scrollIntoViewIfNeeded();
    return person.isVisible();
  }, `@${username} is among the followers`);

  const answer = await hold(page, "Follow");
  await person.getByRole("button", { name: "Follow back" }).click();
  await until(
    async () => (await ada.badges(person)).join() === "Mutual",
    "the badge changes before the server has answered",
  );
  await answer.letGo();
  await person.getByRole("button", { name: "Unfollow" }).waitFor();
  say("followed a follower: the badge changed before the server had answered");

  await ada.follow(person.getByRole("link"));
  const header = page.locator(".profile-header");
  await until(async () => (await ada.badges(header)).join() === "Mutual", "the profile says so, too");
  await page.goBack();
  await person.waitFor();
  expect((await ada.badges(person)).join() === "Mutual", "the list still says so");

  await ada.follow(person.getByRole("link"));
  await ada.posts().first().waitFor();
  const count = (await ada.badges()).length;
  expect(count > 1, "the profile shows how one stands in its head and at each post");
  await header.getByRole("button", { name: "Unfollow" }).click();
  await until(
    async () => (await ada.badges()).every((badge) => badge === "Follows you"),
    "all badges of the profile change",
  );
  await until(() => ada.relationEvents === 2, "both changes are told");
  say(`the profile says so, too, and all its ${count} badges change at once`);
}

async function isRefused(ada, username) {
  const { page } = ada;
  await page.goBack();
  const person = page.locator(`li.person[data-username=${username}]`);
  await until(async () => (await ada.badges(person)).join() === "Follows you", "the list knows of the change");
  await ada.disturbed(async () => {
    const answer = await hold(page, "Follow");
    await person.getByRole("button", { name: "Follow back" }).click();
    await until(async () => (await ada.badges(person)).join() === "Mutual", "the badge changes at first");
    await answer.tear();
    await page.getByRole("alert").filter({ hasText: "could not be followed" }).waitFor();
  });
  await until(async () => (await ada.badges(person)).join() === "Follows you", "the badge changes back");
  await ada.audit("followers");
  await page.getByRole("alert").getByRole("button", { name: "OK" }).click();
  say("a follow that did not reach the server was taken back and told");
}

async function publishes(ada, friend) {
  const [first, second] = ["first", "second"].map((which) => `The ${which} post of visit ${Date.now()}`);
  await ada.follow(ada.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Home" }));
  await ada.publish(first);
  await friend.post(first).waitFor();
  say("a post came to a follower who had the page open");

  await friend.posts().nth(12).scrollIntoViewIfNeeded();
  await friend.page.evaluate(() => scrollTo(0, 1_500));
  await until(() => friend.page.evaluate(() => scrollY > 1_000), "the follower reads further down");
  const placeOf = () =>
    friend
      .posts()
      .nth(12)
      .evaluate((post) => post.getBoundingClientRect().top);
  const place = await placeOf();
  await ada.publish(second);
  const waiting = friend.page.getByRole("button", { name: "1 new post" });
  await waiting.waitFor();
  expect((await placeOf()) === place, "what the follower reads has moved");
  await friend.audit("home-waiting");
  await waiting.click();
  await friend.post(second).waitFor();
  say("while the follower read further down a post waited, and nothing moved");

  for (const content of [first, second]) {
    await ada.remove(content);
    await friend.post(content).waitFor({ state: "detached" });
  }
  say("deleted posts went away, here and there");
}

async function losesConnection(ada, friend, wire) {
  const content = `Published while somebody was away ${Date.now()}`;
  await friend.disturbed(async () => {
    wire.cut();
    await friend.page.getByText("Connection lost").waitFor();
    await ada.publish(content);
    expect((await friend.post(content).count()) === 0, "a post came without a connection");
    wire.mend();
    await friend.post(content).waitFor();
    await friend.page.getByText("Connected again").waitFor();
  });
  expect((await friend.post(content).count()) === 1, "the post came more than once");
  await ada.remove(content);
  await friend.post(content).waitFor({ state: "detached" });
  say("after the connection was lost the timeline went on, with what had happened meanwhile");
}

/** Somebody new who follows somebody without posts, and is away when the first one is published. */
async function beginsFromNothing(browser, wire) {
  const register = `mutation ($input: RegisterInput!) {
    register(input: $input) { token viewer { user { id username } } }
  }`;
  const [writer, reader] = await Promise.all(
    ["writer", "reader"].map(async (role) => {
      const input = { username: `${role}_${Date.now()}`, password: PASSWORD };
      return (await ask(register, { input })).register;
    }),
  );
  const follow = "mutation ($input: FollowInput!) { follow(input: $input) { userErrors { message } } }";
  await ask(follow, { input: { userId: writer.viewer.user.id } }, reader.token);

  const visitor = await Visitor.arrive(browser, reader.viewer.user.username, wire.origin);
  const { page } = visitor;
  await page.getByLabel("Username").fill(visitor.name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("Nothing here yet").waitFor();
  const content = `The first post of all ${Date.now()}`;
  await visitor.disturbed(async () => {
    wire.cut();
    await page.getByText("Connection lost").waitFor();
    const publish = "mutation ($input: PublishInput!) { publish(input: $input) { post { id } } }";
    await ask(publish, { input: { content } }, writer.token);
    wire.mend();
    await visitor.post(content).waitFor();
  });
  await visitor.context.close();
  say("what was published while somebody without a timeline was away came, too");
}

/** Goes on writing while a post is being published. */
async function writesOn(ada) {
  const content = `Published while more is written ${Date.now()}`;
  const box = ada.page.getByRole("textbox", { name: "What do you want to say?" });
  const answer = await hold(ada.page, "Publish");
  await box.fill(content);
  await ada.page.getByRole("button", { name: "Publish" }).click();
  await box.fill("What comes next");
  await answer.letGo();
  await ada.post(content).waitFor();
  expect((await box.inputValue()) === "What comes next", "what was written meanwhile stays");
  await box.fill("");
  await ada.remove(content);
  say("what was written while a post was published stayed");
}

async function fallsFarBehind(friend, wire, token) {
  const MORE_THAN_IS_TOLD = 1_001;
  const AT_A_TIME = 13;
  const publish = "mutation ($input: PublishInput!) { publish(input: $input) { post { id } } }";
  await friend.disturbed(async () => {
    wire.cut();
    for (let number = 0; number < MORE_THAN_IS_TOLD; number += AT_A_TIME) {
      const contents = Array.from({ length: AT_A_TIME }, (_, index) => `Number ${number + index} of very many`);
      await Promise.all(contents.map((content) => ask(publish, { input: { content } }, token)));
    }
    const { publish: last } = await ask(publish, { input: { content: "The last of very many" } }, token);
    // Posts of one author are delivered a few at a time: until all are, a reader is not so far behind.
    const delivery = "query ($id: ID!) { post(id: $id) { delivery { delivered total } } }";
    await until(async () => {
      const { post } = await ask(delivery, { id: last.post.id }, token);
      return post.delivery.delivered === post.delivery.total;
    }, "the last of very many is delivered");
    wire.mend();
    await friend.page.locator(`[data-post="${last.post.id}"]`).waitFor();
  });
  expect(friend.resyncs === 1, `the server asked ${friend.resyncs} times to read the timeline anew`);
  const content = `After very many ${Date.now()}`;
  await ask(publish, { input: { content } }, token);
  await friend.post(content).waitFor();
  const shown = await friend.shown();
  const expected = await timelineOf(await tokenOf(friend.name), shown.length);
  expect(shown.join() === expected.join(), "the timeline that was read anew is not that of the API");
  say("too far behind to be told all, the timeline was read anew and went on");
}

async function isSignedOut(friend) {
  const token = await friend.page.evaluate(() => sessionStorage.getItem("fanfold.demo.token"));
  await friend.disturbed(async () => {
    await ask("mutation { logout { userErrors { message } } }", {}, token);
    await friend.page.getByText("Your session has ended").waitFor();
  });
  await friend.audit("signed-out");
  say("a session that has ended led back to where one signs in");
}

/** Each view with the path that leads to it. */
const viewsOf = (friend) => ({
  "own-profile": "/@ada",
  profile: `/@${friend}`,
  following: `/@${friend}/following`,
  visitors: "/visitors",
  settings: "/settings",
  nobody: "/@nobody_of_this_name",
});

async function visit(browser) {
  const { user } = await ask(
    '{ user(by: { username: "ada" }) { displayName mutuals(first: 1) { nodes { username displayName } } } }',
  );
  const [mutual] = user.mutuals.nodes;
  const token = await tokenOf("ada");

  const ada = await Visitor.arrive(browser, "ada");
  await ada.page.getByRole("button", { name: user.displayName }).waitFor();
  await ada.audit("sign-in");
  await ada.signIn(user.displayName);
  say(`signed in as ${user.displayName}`);
  await ada.audit("home");
  await scrolls(ada, token);

  const username = await followerToFollow(token);
  await followsBack(ada, username);
  await isRefused(ada, username);

  const wire = await Wire.to(new URL(origin));
  const friend = await Visitor.arrive(browser, mutual.username, wire.origin);
  await friend.signIn(mutual.displayName);
  await publishes(ada, friend);
  await writesOn(ada);
  await losesConnection(ada, friend, wire);

  for (const [view, path] of Object.entries(viewsOf(mutual.username))) {
    await ada.open(path);
    await ada.audit(view);
  }

  await fallsFarBehind(friend, wire, token);
  await isSignedOut(friend);
  await friend.context.close();
  await beginsFromNothing(browser, wire);
  wire.close();

  await ada.page.getByRole("button", { name: "Sign out" }).click();
  await ada.page.getByRole("heading", { name: "Look around" }).waitFor();
  await ask("mutation { logout { userErrors { message } } }", {}, token);
  say("signed out");

  if (faults.length === 0) say("0 errors in the console, 0 requests to other origins");
}

mkdirSync(directory, { recursive: true });
const browser = await launch();
try {
  await visit(browser);
} catch (error) {
  faults.push(error.message);
} finally {
  await browser.close();
}
end(faults);
