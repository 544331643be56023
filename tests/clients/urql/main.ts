// Follows, unfollows, publishes and subscribes, with urql's normalised cache:
//
//     tsx urql/main.ts <url> <username> <password> <name of another user>

import type { Client } from "@urql/core";

import { format, type Shown } from "../screen";
import { signIn } from "../session";
import { type Page, takeSteps } from "../steps";
import { openSession } from "./client";
import { Follow, Own, Profile, Publish, RelationChanged, Timeline, Unfollow } from "./documents";

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
const { client, fanfold } = openSession(url);
await signIn(fanfold, username, password, "urql");
await takeSteps(openPage(client, other));
fanfold.close();
