// Follows, unfollows, publishes and subscribes, with Apollo Client's cache:
//
//     tsx apollo/main.ts <url> <username> <password> <name of another user>

import type { ApolloCache } from "@apollo/client";

import { format, type Shown } from "../screen";
import { signIn } from "../session";
import { type Page, takeSteps } from "../steps";
import { openSession, type Session } from "./client";
import { Follow, Own, PostList, Profile, Publish, RelationChanged, Timeline, Unfollow } from "./documents";
import type { PublishMutation } from "./generated/graphql";

/** Puts a published post on top of its author's list, if the list is cached. */
function prependPost(cache: ApolloCache, payload: PublishMutation["publish"] | undefined): void {
  const edge = payload?.postEdge;
  const author = payload?.viewer?.user;
  if (!edge || !author) return;
  cache.updateFragment({ id: cache.identify(author)!, fragment: PostList, fragmentName: "PostList" }, (list) =>
    list?.posts ? { ...list, posts: { ...list.posts, edges: [edge, ...list.posts.edges] } } : null,
  );
}

/** Opens a page whose queries watch the cache. */
function openPage({ client }: Session, username: string): Page {
  const shown: Shown = {};
  client.watchQuery({ query: Own }).subscribe(({ data, dataState }) => {
    if (dataState === "complete") shown.own = data.viewer?.user;
  });
  client.watchQuery({ query: Profile, variables: { username } }).subscribe(({ data, dataState }) => {
    if (dataState === "complete") shown.profile = data.user;
  });
  client.watchQuery({ query: Timeline }).subscribe(({ data, dataState }) => {
    if (dataState === "complete") shown.timeline = data.viewer?.timeline;
  });
  const target = () => ({ userId: shown.profile?.id ?? "" });
  return {
    text: () => format(shown),
    follow: async () => {
      await client.mutate({ mutation: Follow, variables: target() });
    },
    unfollow: async () => {
      await client.mutate({ mutation: Unfollow, variables: target() });
    },
    publish: async (content) => {
      await client.mutate({
        mutation: Publish,
        variables: { content },
        update: (cache, { data }) => prependPost(cache, data?.publish),
      });
    },
    watch: () => {
      const subscription = client.subscribe({ query: RelationChanged }).subscribe(({ data }) => {
        // Changes may have been missed: read the shown relations again.
        if (data?.relationChanged.__typename === "RelationsReset") void client.refetchQueries({ include: "active" });
      });
      return () => subscription.unsubscribe();
    },
  };
}

const [url = "", username = "", password = "", other = ""] = process.argv.slice(2);
const session = openSession(url);
await signIn(session.fanfold, username, password, "apollo");
await takeSteps(openPage(session, other));
session.fanfold.close();
