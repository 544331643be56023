// Shows the page of whoever signs in, and presses its buttons:
//
//     node relay/generated/main.cjs <url> <username> <password>

import "./dom";

import { act, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";

import { App } from "./App";
import { publish, signIn } from "./changes";
import { createEnvironment } from "./environment";

/** How long the page may take to become another one, in milliseconds. */
const PATIENCE = 10_000;

let seen = "";

/** What is on the page, a line each. */
function text(): string {
  return [...document.querySelectorAll("p, li")].map((line) => line.textContent).join("\n");
}

/** Tells what is on the page as soon as it is something else than before. */
async function look(): Promise<void> {
  for (const end = Date.now() + PATIENCE; text() === seen;) {
    if (Date.now() > end) throw new Error(`The page stays as it is:\n${seen}`);
    await act(() => new Promise<void>((resolve) => setTimeout(resolve, 5)));
  }
  seen = text();
  console.log(`${seen}\n`);
}

/** Presses the first button of this name, and tells what comes of it: so many other pages. */
async function press(name: string, pages: number): Promise<void> {
  const button = document.querySelector<HTMLButtonElement>(`button[name="${name}"]`);
  if (!button) return;
  act(() => button.click());
  for (let page = 0; page < pages; page += 1) await look();
}

async function main([url = "", username = "", password = ""]: string[]): Promise<void> {
  const environment = createEnvironment(url, await signIn(createEnvironment(url), username, password));
  const root = createRoot(document.body);
  act(() =>
    root.render(
      <RelayEnvironmentProvider environment={environment}>
        <Suspense fallback="">
          <App username={username} />
        </Suspense>
      </RelayEnvironmentProvider>,
    ),
  );
  await look();
  await press("more", 1);
  // What is hoped for, and what the server says.
  await press("follow", 2);
  await press("follow", 2);
  await publish(environment, "a new post");
  await press("refresh", 1);
  act(() => root.unmount());
}

// What a page has asked for, Relay keeps for some minutes after it is gone; this program does not wait for that.
main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
