// Tests the playground in a browser:
//
//     node playground.mjs <origin> <directory for screenshots>
//
// The server serves the demo world. Prints one line per passed step, and the time of the first paint at the end.

import { mkdirSync } from "node:fs";

import { end, launch, open, violationsOf } from "./browser.mjs";

const [origin, directory] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const faults = [];
const browser = await launch();

/** Sends a request to the API directly, without the browser. */
async function request(query, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${origin}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

async function signIn(username) {
  const { login } = await request(
    `mutation { login(input: { username: "${username}", password: "demo-password" }) { token } }`,
  );
  return login.token;
}

/** Executes the operation in the editor, once the editor has loaded. */
async function execute(page) {
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
  await page.getByRole("button", { name: /^Execute query/ }).click();
}

const response = (page, text) => page.locator(".result-window", { hasText: text }).waitFor();
const screenshot = (page, name) => page.screenshot({ path: `${directory}/playground-${name}.png` });

async function check(page, name) {
  await screenshot(page, name);
  for (const violation of await violationsOf(page)) faults.push(`${name}: ${violation}`);
}

async function visit(colorScheme) {
  const page = await open(browser, origin, faults, { colorScheme });
  await page.goto(origin);
  await page.getByRole("button", { name: "AProfile" }).waitFor();
  await execute(page);
  await response(page, "Ada Okafor");
  await check(page, colorScheme);
  console.log(`${colorScheme}: the first stop of the tour returns a response`);
  return page;
}

/** Replaces the content of the editor, which closes brackets by itself. */
async function type(page, text) {
  await page.locator(".graphiql-query-editor .monaco-editor").first().click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type(text);
}

async function complete(page) {
  await page.getByRole("button", { name: "New tab" }).click();
  await type(page, '{ user(by: { username: "ada" }) { displ');
  const name = page.locator(".suggest-widget.visible").getByText("displayName").first();
  // There is no sign of when the editor has loaded the schema: retry.
  while (!(await name.isVisible())) {
    await page.keyboard.press("Control+Space");
    await Promise.race([name.waitFor(), new Promise((resolve) => setTimeout(resolve, 1_000))]);
  }
  console.log("the editor completes names");
}

/** Waits until the clipboard matches a pattern, and returns its text. */
async function copied(page, pattern) {
  const matches = ([source]) =>
    navigator.clipboard.readText().then((text) => (new RegExp(source).test(text) ? text : null));
  return (await page.waitForFunction(matches, [pattern.source])).jsonValue();
}

async function signInByPanel(page) {
  await page.getByRole("button", { name: "Show Sign in" }).click();
  await page.getByRole("region", { name: "Sign in" }).getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Requests are sent as").waitFor();
  await check(page, "signed-in");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy the token" }).click();
  const { viewer } = await request("{ viewer { user { username } } }", await copied(page, /^\S{40,}$/));
  console.log(`the panel signs in as ${viewer.user.username}, and copies the token`);
}

async function openStop(page, title) {
  const panel = page.getByRole("region", { name: "Tour" });
  if (!(await panel.isVisible())) await page.getByRole("button", { name: "Show Tour" }).click();
  await panel.getByRole("button", { name: title, exact: true }).click();
}

async function executeAsViewer(page) {
  await openStop(page, "Relations");
  await execute(page);
  await response(page, "MUTUAL");
  await check(page, "tour");
  console.log("operations are executed as the viewer");
}

/** Receives a post by a user whom Ada follows, while she is subscribed. */
async function watch(page) {
  const { viewer } = await request(
    "{ viewer { user { following(first: 1) { nodes { username } } } } }",
    await signIn("ada"),
  );
  const author = await signIn(viewer.user.following.nodes[0].username);
  await openStop(page, "Watch");
  await execute(page);
  // There is no sign of when the subscription has begun, and posts published before that are not sent: retry.
  let isReceived = false;
  const received = response(page, "published while subscribed").then(() => (isReceived = true));
  while (!isReceived) {
    await request('mutation { publish(input: { content: "published while subscribed" }) { post { id } } }', author);
    await Promise.race([received, new Promise((resolve) => setTimeout(resolve, 500))]);
  }
  await screenshot(page, "watching");
  await page.getByRole("button", { name: /^Stop query/ }).click();
  console.log("a subscription receives a post that another client publishes");
}

async function followLink(page) {
  await page.getByRole("button", { name: "New tab" }).click();
  await type(page, "query FromALink { countries { code");
  await page.getByRole("button", { name: "Copy a link to this tab" }).click();
  const link = await copied(page, /^http/);
  const other = await open(browser, origin, faults);
  await other.goto(link);
  await other.getByRole("button", { name: "FromALink" }).waitFor();
  await execute(other);
  await response(other, "AD");
  if (new URL(other.url()).hash) faults.push(`the fragment stays in the URL: ${other.url()}`);
  console.log("a link opens the content of a tab");
}

/** Opens the page with a malformed link and a malformed stored session: it loads all the same. */
async function ignoreMalformed() {
  for (const garbage of ["[1,2]", '[{"a":1},{"b":2}]', "{", ""]) {
    const page = await open(browser, origin, faults);
    await page.addInitScript(() => sessionStorage.setItem("fanfold:session", "{garbage"));
    await page.goto(`${origin}/#tab=${btoa(garbage)}`);
    await page.getByRole("button", { name: "AProfile" }).waitFor();
    await page.context().close();
  }
  console.log("malformed links and sessions are ignored");
}

/** Ends the session from another client: anonymous requests still work afterwards. */
async function loseSession(page) {
  const token = await page.evaluate(() => JSON.parse(sessionStorage.getItem("fanfold:session")).token);
  await request("mutation { logout { userErrors { code } } }", token);
  await openStop(page, "A profile");
  const rejected = page.waitForResponse((response) => response.status() === 401);
  await execute(page);
  await rejected;
  await page.getByRole("button", { name: "Show Sign in" }).click();
  await page.getByText("Your session has ended.").waitFor();
  await execute(page);
  await response(page, "Ada Okafor");
  console.log("a session that has ended is reported and discarded");
}

async function test() {
  const page = await visit("light");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  await complete(page);
  await signInByPanel(page);
  await executeAsViewer(page);
  await watch(page);
  await followLink(page);
  await ignoreMalformed();
  await visit("dark");
  const before = faults.length;
  await loseSession(page);
  // The browser logs every response with an error status.
  faults.push(...faults.splice(before).filter((fault) => !fault.includes("401")));
  console.log(`first paint after ${Math.round(paint)} ms`);
}

await test().catch((error) => faults.push(error.message));
await browser.close();
end(faults);
