// A visitor of the demo in a browser, for tests that have
//
//     <origin> <directory for screenshots>
//
// as arguments. The origin serves the demo, with the data of `fanfold demo`. A test prints one line per passed step; the
// first failed expectation ends it with a message.

import { mkdirSync } from "node:fs";

import { end, launch, open, TIMEOUT, violationsOf } from "./browser.mjs";

export const [origin, directory] = process.argv.slice(2);
export const PASSWORD = "demo-password";
/** The viewports of a desktop and of a small phone. */
const SIZES = { desk: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } };
const SCHEMES = ["light", "dark"];
/** The colour scheme in which axe runs at each size. */
const AUDITED = { desk: "light", phone: "dark" };

export const report = (line) => console.log(line);

export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

/** Waits until a condition holds. */
export async function until(condition, description) {
  const end = Date.now() + TIMEOUT;
  while (!(await condition())) {
    expect(Date.now() < end, `not within ${TIMEOUT / 1_000} s: ${description}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends a request to the API directly, without the browser. */
export async function request(query, variables, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  expect(!errors, `the API responds with ${JSON.stringify(errors)}`);
  return data;
}

export async function tokenOf(username) {
  const query = "mutation ($input: LoginInput!) { login(input: $input) { token } }";
  const { login } = await request(query, { input: { username, password: PASSWORD, label: "demo test" } });
  return login.token;
}

const faults = [];
/** All visitors who have arrived. */
const visitors = [];

export class Visitor {
  /** True while the test itself breaks requests: the browser's errors are ignored. */
  isDisturbed = false;
  /** The number of `RESYNC_REQUIRED` errors received. */
  resyncs = 0;
  /** The number of relation changes received. */
  relationEvents = 0;
  /** The names of the operations sent over HTTP. */
  operations = [];

  static async arrive(browser, name, at = origin) {
    const visitor = new Visitor();
    const page = await open(browser, at, faults, {
      isDisturbing: () => visitor.isDisturbed,
      viewport: SIZES.desk,
      reducedMotion: "reduce",
      colorScheme: "light",
    });
    Object.assign(visitor, { name, origin: at, context: page.context(), page });
    visitors.push(visitor);
    visitor.listen();
    await visitor.page.goto(`${at}/demo/`);
    return visitor;
  }

  listen() {
    this.page.on("request", (request) => {
      if (request.url().endsWith("/graphql")) this.operations.push(request.postDataJSON()?.operationName);
    });
    this.page.on("websocket", (socket) => {
      socket.on("framereceived", ({ payload }) => {
        if (payload.includes("RESYNC_REQUIRED")) this.resyncs += 1;
        if (payload.includes('"relationChanged"')) this.relationEvents += 1;
      });
    });
  }

  /** Runs a step that makes the browser log network errors. */
  async disturbed(work) {
    this.isDisturbed = true;
    await work();
    // The browser may log the last error after the page has recovered from it, but before it is idle. Chromium may
    // never call back without a timeout, although the page is idle.
    await this.page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve, { timeout: 1_000 })));
    await this.page.waitForTimeout(500);
    this.isDisturbed = false;
  }

  async signIn(name) {
    await this.page.getByRole("button", { name }).click();
    await this.posts().first().waitFor();
  }

  /** Signs in by username, as someone who need not be suggested. */
  async signInAs(username) {
    await this.page.getByLabel("Username").fill(username);
    await this.page.getByLabel("Password").fill(PASSWORD);
    await this.page.getByRole("button", { name: "Sign in", exact: true }).click();
  }

  posts() {
    return this.page.getByRole("feed").locator("article");
  }

  /** Returns the ids of the shown posts. */
  shown() {
    return this.posts().evaluateAll((posts) => posts.map((post) => post.dataset.post));
  }

  post(content) {
    return this.posts().filter({ hasText: content });
  }

  badges(within = this.page.locator("main")) {
    return within.locator(".badge").allTextContents();
  }

  /** Returns the beginning of what the page shows, and takes a picture of it. */
  async describe() {
    if (this.page.isClosed()) return `${this.name} has left`;
    await this.page.screenshot({ path: `${directory}/failed-${this.name}.png` });
    const text = await this.page.locator("body").innerText();
    return `${this.name} at ${this.page.url()}, scrolled by ${await this.page.evaluate(() => scrollY)}: ${text.slice(0, 1_500)}`;
  }

  /** Clicks a link of the page, and expects the focus on the heading of the new one. */
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
    await post.getByRole("button", { name: "Delete forever" }).click();
    await post.waitFor({ state: "detached" });
  }

  /** Takes a screenshot of a view in each size and colour scheme, and runs axe in each size and in each scheme. */
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
        // Rules depend on the size or on the colours.
        if (colorScheme !== AUDITED[size]) continue;
        const violations = await violationsOf(page);
        expect(violations.length === 0, `axe on ${where}: ${violations.join("; ")}`);
      }
    }
    await page.setViewportSize(SIZES.desk);
    await page.emulateMedia({ colorScheme: "light" });
    report(`${view}: no serious violations, 1280 px wide and light, 360 px wide and dark`);
  }
}

export const mainLink = ({ page }, name) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name });

/** Runs a test in a browser, and exits. */
export async function run(test) {
  mkdirSync(directory, { recursive: true });
  const browser = await launch();
  try {
    await test(browser);
    if (faults.length === 0) report("0 console errors, 0 requests to other origins");
  } catch (error) {
    faults.push(error.message, ...(await Promise.all(visitors.map((visitor) => visitor.describe()))));
  } finally {
    await browser.close();
  }
  end(faults);
}
