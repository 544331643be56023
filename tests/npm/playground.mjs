// A visitor of the playground:
//
//     node playground.mjs <origin> <directory for pictures>
//
// The server holds the demo world. What the visitor sees is told, a line each; how long the first paint took is told
// last.

import { mkdirSync } from "node:fs";

import { barriers, end, launch, open } from "./browser.mjs";

const [origin, pictures] = process.argv.slice(2);
mkdirSync(pictures, { recursive: true });
const faults = [];
const browser = await launch();

/** Asks the server past the browser. */
async function ask(query, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${origin}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

async function signIn(username) {
  const { login } = await ask(
    `mutation { login(input: { username: "${username}", password: "demo-password" }) { token } }`,
  );
  return login.token;
}

/** Sends what stands in the editor, once that is there. */
async function execute(page) {
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
  await page.getByRole("button", { name: /^Execute query/ }).click();
}

const answer = (page, text) => page.locator(".result-window", { hasText: text }).waitFor();
const picture = (page, name) => page.screenshot({ path: `${pictures}/playground-${name}.png` });

async function check(page, name) {
  await picture(page, name);
  for (const barrier of await barriers(page)) faults.push(`${name}: ${barrier}`);
}

async function visit(colorScheme) {
  const page = await open(browser, origin, faults, { colorScheme });
  await page.goto(origin);
  await page.getByRole("button", { name: "AProfile" }).waitFor();
  await execute(page);
  await answer(page, "Ada Okafor");
  await check(page, colorScheme);
  console.log(`${colorScheme}: the first stop of the tour is answered`);
  return page;
}

/** What is typed into the editor of the tab; it closes brackets by itself. */
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
  // Nothing says when the editor knows the schema.
  while (!(await name.isVisible())) {
    await page.keyboard.press("Control+Space");
    await Promise.race([name.waitFor(), new Promise((resolve) => setTimeout(resolve, 1_000))]);
  }
  console.log("names are completed");
}

/** What was copied, as soon as it is of this form. */
async function copied(page, form) {
  const has = ([source]) =>
    navigator.clipboard.readText().then((text) => (new RegExp(source).test(text) ? text : null));
  return (await page.waitForFunction(has, [form.source])).jsonValue();
}

async function signInByPanel(page) {
  await page.getByRole("button", { name: "Show Sign in" }).click();
  await page.getByRole("region", { name: "Sign in" }).getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Everything you send is sent as").waitFor();
  await check(page, "signed-in");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy the token" }).click();
  const { viewer } = await ask("{ viewer { user { username } } }", await copied(page, /^\S{40,}$/));
  console.log(`the panel signs in as ${viewer.user.username}, and gives a token`);
}

async function openStop(page, title) {
  const panel = page.getByRole("region", { name: "Tour" });
  if (!(await panel.isVisible())) await page.getByRole("button", { name: "Show Tour" }).click();
  await panel.getByRole("button", { name: title, exact: true }).click();
}

async function askAsViewer(page) {
  await openStop(page, "Relations");
  await execute(page);
  await answer(page, "MUTUAL");
  await check(page, "tour");
  console.log("what is asked then is asked by the viewer");
}

/** A post of somebody whom Ada follows comes while she watches. */
async function watch(page) {
  const { viewer } = await ask(
    "{ viewer { user { following(first: 1) { nodes { username } } } } }",
    await signIn("ada"),
  );
  const author = await signIn(viewer.user.following.nodes[0].username);
  await openStop(page, "Watch");
  await execute(page);
  // Nothing says when the server watches; what is published before that is not told.
  let isTold = false;
  const told = answer(page, "seen as it came").then(() => (isTold = true));
  while (!isTold) {
    await ask('mutation { publish(input: { content: "seen as it came" }) { post { id } } }', author);
    await Promise.race([told, new Promise((resolve) => setTimeout(resolve, 500))]);
  }
  await picture(page, "watching");
  await page.getByRole("button", { name: /^Stop query/ }).click();
  console.log("a subscription is told of a post that another client publishes");
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
  await answer(other, "AD");
  if (new URL(other.url()).hash) faults.push(`the link stays in the address: ${other.url()}`);
  console.log("a link leads to what stands in a tab");
}

/** What is kept or linked to may be garbage: the page comes all the same. */
async function meetGarbage() {
  for (const garbage of ["[1,2]", '[{"a":1},{"b":2}]', "{", ""]) {
    const page = await open(browser, origin, faults);
    await page.addInitScript(() => sessionStorage.setItem("fanfold:session", "{garbage"));
    await page.goto(`${origin}/#tab=${btoa(garbage)}`);
    await page.getByRole("button", { name: "AProfile" }).waitFor();
    await page.context().close();
  }
  console.log("links and sessions that are none are passed over");
}

/** The session ends elsewhere; what anybody may ask can still be asked. */
async function loseSession(page) {
  const token = await page.evaluate(() => JSON.parse(sessionStorage.getItem("fanfold:session")).token);
  await ask("mutation { logout { userErrors { code } } }", token);
  await openStop(page, "A profile");
  const refused = page.waitForResponse((response) => response.status() === 401);
  await execute(page);
  await refused;
  await page.getByRole("button", { name: "Show Sign in" }).click();
  await page.getByText("Your session has ended.").waitFor();
  await execute(page);
  await answer(page, "Ada Okafor");
  console.log("a session that has ended is told, and forgotten");
}

async function tour() {
  const page = await visit("light");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  await complete(page);
  await signInByPanel(page);
  await askAsViewer(page);
  await watch(page);
  await followLink(page);
  await meetGarbage();
  await visit("dark");
  const before = faults.length;
  await loseSession(page);
  // The browser complains of every answer that is a refusal.
  faults.push(...faults.splice(before).filter((fault) => !fault.includes("401")));
  console.log(`first paint after ${Math.round(paint)} ms`);
}

await tour().catch((error) => faults.push(error.message));
await browser.close();
end(faults);
