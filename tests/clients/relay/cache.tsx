// Follows, unfollows, publishes and subscribes, with Relay's store:
//
//     node relay/generated/cache.cjs <url> <username> <password> <name of another user>

import { act } from "react";
import { ConnectionHandler } from "relay-runtime";

import { takeSteps } from "../steps";
import { publish, signIn, watchRelations } from "./changes";
import { createEnvironment } from "./environment";
import { Own, POSTS } from "./Own";
import { click, render, run, text, wait } from "./page";
import { Person } from "./Person";
import { Timeline } from "./Timeline";

async function main(url = "", username = "", password = "", other = ""): Promise<void> {
  const { token, userId } = await signIn(createEnvironment(url), username, password);
  const environment = createEnvironment(url, token);
  const close = render(
    environment,
    <main>
      <Person username={other} />
      <Own />
      <Timeline />
    </main>,
  );
  const posts = ConnectionHandler.getConnectionID(userId, POSTS);
  const page = {
    text,
    follow: async () => click("follow"),
    unfollow: async () => click("unfollow"),
    publish: async (content: string) => act(() => publish(environment, content, [posts])),
    watch: () => watchRelations(environment),
  };
  await takeSteps(page, wait);
  close();
}

run(main);
