// Signs in, renders the user's page, and clicks its buttons:
//
//     node relay/generated/main.cjs <url> <username> <password>

import { changeOf } from "../steps";
import { App } from "./App";
import { publish, signIn } from "./changes";
import { createEnvironment } from "./environment";
import { click, render, run, text, wait } from "./page";

let shown = "";

/** Prints the next changes of the page. */
async function printChanges(count: number): Promise<void> {
  for (let change = 0; change < count; change += 1) {
    shown = await changeOf(text, shown, wait);
    console.log(`${shown}\n`);
  }
}

async function main(url = "", username = "", password = ""): Promise<void> {
  const { token } = await signIn(createEnvironment(url), username, password);
  const close = render(createEnvironment(url, token), <App username={username} />);
  await printChanges(1);
  click("more");
  await printChanges(1);
  // Two changes each: the optimistic response and the server's.
  click("follow");
  await printChanges(2);
  click("follow");
  await printChanges(2);
  // Another client of the same user, with its own store.
  await publish(createEnvironment(url, token), "a new post");
  click("refresh");
  await printChanges(1);
  close();
}

run(main);
