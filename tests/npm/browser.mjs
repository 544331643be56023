// Launches a browser for tests of the pages, and records faults.

import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

import { chromium } from "playwright-core";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];
const QUIET = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** Default timeout in milliseconds: the machine may be busy with other tests. */
export const TIMEOUT = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Launches a Chromium installed on the system. */
export async function launch() {
  const places = process.env.PATH.split(delimiter).flatMap((place) => PROGRAMS.map((program) => join(place, program)));
  const executablePath = places.find(existsSync);
  if (!executablePath) throw new Error("no Chromium found; `make setup-tests` installs it");
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", ...QUIET];
  return chromium.launch({ executablePath, args });
}

/**
 * Opens a page in its own context. Console errors, exceptions and requests to other origins are added to `faults`;
 * console errors are ignored while the test `isDisturbing` the network itself.
 */
export async function open(browser, origin, faults, { isDisturbing = () => false, ...options } = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  const add = (fault) => {
    faults.push(`${page.url()}: ${fault}`);
    // Also printed at once, between the steps.
    console.log(`${new Date().toISOString()} fault at ${page.url()}: ${fault}`);
  };
  page.on("console", (message) => {
    if (message.type() === "error" && !isDisturbing()) add(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => add(`exception: ${error.message}`));
  const { host } = new URL(origin);
  const checkOrigin = (url) => {
    const { protocol, host: requested } = new URL(url);
    const isSameOrigin = requested === host || ["data:", "blob:"].includes(protocol);
    if (!isSameOrigin) add(`request to another origin: ${url}`);
  };
  context.on("request", (request) => checkOrigin(request.url()));
  page.on("websocket", (socket) => checkOrigin(socket.url()));
  return page;
}

/** Returns the serious and critical violations that axe-core finds, one line each. */
export async function violationsOf(page) {
  // Evaluated by the browser's debugger: the page's policy would block a script element.
  await page.evaluate(AXE);
  // Returns the violations alone: the other results name each element of the page, and receiving them takes minutes.
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run({ resultTypes: ["violations"] });
    const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    return grave.map(({ id, nodes }) => `${id}, ${nodes.length} times: ${nodes[0].html} ${nodes[0].failureSummary}`);
  });
}

/** Prints the faults and exits; with status 1 if there are any. */
export function end(faults) {
  for (const fault of faults) console.error(fault);
  process.exit(faults.length > 0 ? 1 : 0);
}
