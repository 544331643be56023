// A browser as a visitor of the pages has it, which takes note of what goes wrong.

import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

import { chromium } from "playwright-core";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];
const QUIET = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** How long something may take to be there, in milliseconds: the machine may be busy with other tests. */
const PATIENCE = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A browser of the system's. */
export async function launch() {
  const places = process.env.PATH.split(delimiter).flatMap((place) => PROGRAMS.map((program) => join(place, program)));
  const executablePath = places.find(existsSync);
  if (!executablePath) throw new Error("there is no Chromium; `make setup-tests` installs it");
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", ...QUIET];
  return chromium.launch({ executablePath, args });
}

/**
 * A page in a context of its own. What is told to the console as an error, thrown, or asked of another origin is added
 * to `faults`; what is told to the console is not while the test `isDisturbing` the network itself.
 */
export async function open(browser, origin, faults, { isDisturbing = () => false, ...options } = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" && !isDisturbing()) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
  const { host } = new URL(origin);
  const note = (url) => {
    const { protocol, host: asked } = new URL(url);
    const isInside = asked === host || ["data:", "blob:"].includes(protocol);
    if (!isInside) faults.push(`asked of another origin: ${url}`);
  };
  context.on("request", (request) => note(request.url()));
  page.on("websocket", (socket) => note(socket.url()));
  return page;
}

/** What axe-core finds that is serious or critical, a line each. */
export async function barriers(page) {
  // Not as a script of the page, which its policy would not let in.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return grave.map(({ id, nodes }) => `${id}, ${nodes.length} times: ${nodes[0].html} ${nodes[0].failureSummary}`);
}

/** Ends the program with what is wrong, if anything is. */
export function end(faults) {
  for (const fault of faults) console.error(fault);
  process.exit(faults.length > 0 ? 1 : 0);
}
