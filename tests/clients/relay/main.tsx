// Signs in, renders the user's page, and clicks its buttons:
//
//     node relay/generated/main.cjs <url> <username> <password>

import "./dom";

import { act, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";

import { App } from "./App";
import { publish, signIn } from "./changes";
import { createEnvironment } from "./environment";

/** Timeout of a change of the page, in milliseconds. */
const TIMEOUT = 10_000;

let shown = "";

/** Returns the text of the page. */
function text(): string {
  return [...document.querySelectorAll("p, li")].map((line) => line.textContent).join("\n");
}

/** Waits until the page changes, and prints it. */
async function printChange(): Promise<void> {
  for (const end = Date.now() + TIMEOUT; text() === shown;) {
    if (Date.now() > end) throw new Error(`The page has not changed:\n${shown}`);
    await act(() => new Promise<void>((resolve) => setTimeout(resolve, 5)));
  }
  shown = text();
  console.log(`${shown}\n`);
}

/** Clicks the first button of this name, and prints the next `changes` changes of the page. */
async function click(name: string, changes: number): Promise<void> {
  const button = document.querySelector<HTMLButtonElement>(`button[name="${name}"]`);
  if (!button) return;
  act(() => button.click());
  for (let change = 0; change < changes; change += 1) await printChange();
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
  await printChange();
  await click("more", 1);
  // Two changes each: the optimistic response and the server's.
  await click("follow", 2);
  await click("follow", 2);
  await publish(environment, "a new post");
  await click("refresh", 1);
  act(() => root.unmount());
}

// Exit explicitly: Relay caches the queries of an unmounted page for some minutes, and keeps the process alive.
main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
