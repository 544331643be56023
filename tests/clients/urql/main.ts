// Follows, unfollows, publishes and subscribes, with urql's normalised cache:
//
//     tsx urql/main.ts <url> <username> <password> <name of another user>

import type { Client } from "@urql/core";

import { format, type Shown } from "../screen";
import { type Page, takeSteps } from "../steps";
import { openSession } from "./client";
import { Follow, Own, Profile, Publish, RelationChanged, SignIn, Timeline, Unfollow } from "./documents";

async function signIn(client: Client, username: string, password: string): Promise<string> {
  const { data, error } = await client.mutation(SignIn, { input: { username, password, label: "urql" } });
  if (!data?.login?.token) throw error ?? new Error(data?.login?.userErrors.map(({ message }) => message).join(" "));
  return data.login.token;
}

/** Opens a page whose queries watch the cache. */
function openPage(client: Client, username: string): Page {
  const shown: Shown = {};
  client.query(Own, {}).subscribe(({ data }) => {
    if (data) shown.own = data.viewer?.user;
  });
  client.query(Profile, { username }).subscribe(({ data }) => {
    if (data) shown.profile = data.user;
  });
  client.query(Timeline, {}).subscribe(({ data }) => {
    if (data) shown.timeline = data.viewer?.timeline;
  });
  const target = () => ({ userId: shown.profile?.id ?? "" });
  const refetch = () => {
    const requestPolicy = "network-only";
    void client.query(Own, {}, { requestPolicy }).toPromise();
    void client.query(Profile, { username }, { requestPolicy }).toPromise();
    void client.query(Timeline, {}, { requestPolicy }).toPromise();
  };
  return {
    text: () => format(shown),
    follow: async () => {
      await client.mutation(Follow, target());
    },
    unfollow: async () => {
      await client.mutation(Unfollow, target());
    },
    publish: async (content) => {
      await client.mutation(Publish, { content });
    },
    watch: () => {
      const watched = client.subscription(RelationChanged, {}).subscribe(({ data }) => {
        // Changes may have been missed: read the shown relations again.
        if (data?.relationChanged.__typename === "RelationsReset") refetch();
      });
      return watched.unsubscribe;
    },
  };
}

const [url = "", username = "", password = "", other = ""] = process.argv.slice(2);
const token = await signIn(openSession(url).client, username, password);
const { client, socket } = openSession(url, token);
await takeSteps(openPage(client, other));
await socket.dispose();
