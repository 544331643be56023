// The hooks in a page, against a real server.

import { changeInOtherTab, close, report, scrollTo } from "./harness/dom.js";
import "./harness/warnings.js";

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { ApolloClient, gql, InMemoryCache } from "@apollo/client";
import { Client } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { act, StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { apolloBinding, fanfoldCache, fanfoldLink } from "../src/apollo.js";
import { createFanfold, type Fanfold, localToken, memoryToken, type TokenStore } from "../src/index.js";
import {
  type Binding,
  FanfoldProvider,
  type FollowedUser,
  type ListedEntry,
  type ListReading,
  useConnection,
  useFollow,
  useList,
  useSession,
  useTimeline,
  useWaiting,
} from "../src/react.js";
import { fanfoldCache as urqlCache, fanfoldExchange, urqlBinding } from "../src/urql.js";
import { EVENTS, FOLLOW, HOME, UNFOLLOW } from "./documents.js";
import { startProxy } from "./harness/proxy.js";
import { QuietWebSocket } from "./harness/socket.js";
import { pause, register, skip, URL_OF_API, type User } from "./harness/world.js";

interface Entry extends ListedEntry {
  node: { id: string; content: string; author: FollowedUser & { username: string } };
}

const AUTHOR = "author { id username isPrivate relation { id status followingSince requestedSince } }";
const documents = {
  query: gql(HOME.replace(/author \{[^}]*\}/, AUTHOR)),
  events: gql(EVENTS.replace(/author \{[^}]*\}/, AUTHOR)),
};

function Follow({ user }: { user: FollowedUser }) {
  const { label, toggle, error } = useFollow(user);
  return (
    <>
      <button name="follow" onClick={toggle}>
        {label}
      </button>
      {error && <b>{error}</b>}
    </>
  );
}

function Home() {
  const { entries, waiting, reveal, hasMore, loadMore } = useTimeline<Entry>({
    ...documents,
    isOwn: ({ node }) => node.author.relation === null,
  });
  return (
    <main>
      <button name="reveal" onClick={reveal}>
        {waiting} waiting
      </button>
      {entries.map(({ key, node }) => (
        <p key={key}>
          {node.content} {node.author.relation && <Follow user={node.author} />}
        </p>
      ))}
      {hasMore && <button name="more" onClick={loadMore} />}
    </main>
  );
}

function Page({ isHome }: { isHome: boolean }) {
  const { isSignedIn } = useSession();
  const connection = useConnection();
  return (
    <>
      <i>
        {connection} {String(isSignedIn)} {useWaiting(documents)}
      </i>
      {isHome && <Home />}
    </>
  );
}

const ends: (() => void)[] = [];
after(async () => {
  for (const end of ends) end();
  await close();
});

function openPage(url: string, token: TokenStore) {
  const fanfold = createFanfold({ url, token, webSocket: QuietWebSocket });
  const client = new ApolloClient({ cache: new InMemoryCache(fanfoldCache()), link: fanfoldLink(fanfold) });
  const binding = apolloBinding(fanfold, client, { follow: gql(FOLLOW), unfollow: gql(UNFOLLOW) });
  const element = document.createElement("div");
  document.body.append(element);
  const root = createRoot(element);
  const render = (isHome: boolean) =>
    act(() =>
      root.render(
        <StrictMode>
          <FanfoldProvider binding={binding}>
            <Page isHome={isHome} />
          </FanfoldProvider>
        </StrictMode>,
      ),
    );
  ends.push(() => {
    act(() => root.unmount());
    fanfold.close();
  });
  const texts = () => [...element.querySelectorAll("p")].map(({ textContent }) => textContent!.trim());
  const status = () => element.querySelector("i")!.textContent!;
  const waiting = () => element.querySelector("[name=reveal]")!.textContent;
  const click = (name: string) => act(async () => element.querySelector<HTMLElement>(`[name=${name}]`)!.click());
  const reach = async (condition: () => boolean, what: string) => {
    for (let attempt = 0; !condition(); attempt += 1) {
      assert.ok(attempt < 2_000, `${what}: ${element.textContent}`);
      await act(() => pause(5));
    }
  };
  return { fanfold, render, texts, status, waiting, click, reach };
}

async function pair(): Promise<[User, User]> {
  const [reader, writer] = [await register("reader"), await register("writer")];
  await reader.follow(writer);
  return [reader, writer];
}

test("new entries wait while the user reads further down, and until the page is shown again", { skip }, async () => {
  const [reader, writer] = await pair();
  localStorage.setItem("a", reader.token);
  await writer.publish("first");
  const { render, texts, status, waiting, click, reach } = openPage(URL_OF_API, localToken("a"));
  render(true);
  await reach(() => texts().length === 1 && status() === "live true 0", "a page");
  await writer.publish("second");
  await reach(() => texts().length === 2, "an entry at the top");
  act(() => scrollTo(500));
  await writer.publish("third");
  await reach(() => waiting() === "1 waiting", "an entry that waits");
  await reader.publish("own");
  await reach(() => texts()[0]!.startsWith("own"), "one's own post at once");
  assert.equal(texts().length, 3);
  await click("reveal");
  assert.deepEqual(
    texts().map((text) => text.split(" ")[0]),
    ["own", "third", "second", "first"],
  );
  act(() => scrollTo(0));
  // The timeline lives on while another page is shown.
  render(false);
  await writer.publish("fourth");
  await reach(() => status() === "live true 1", "an entry that waits");
  render(true);
  await reach(() => texts().length === 5, "the entry at the top");
});

test("a follow is shown at once in the whole page, and errors are reported", { skip }, async () => {
  const [reader, writer] = await pair();
  localStorage.setItem("b", reader.token);
  await writer.publish("one");
  await writer.publish("two");
  const proxy = await startProxy(URL_OF_API);
  const { render, texts, click, reach, fanfold } = openPage(proxy.url, localToken("b"));
  render(true);
  await reach(() => texts().length === 2 && fanfold.state.get() === "live", "a page");
  assert.deepEqual(texts(), ["two Unfollow", "one Unfollow"]);
  // Posts of users who are not followed any more leave the timeline when it is read again.
  proxy.isDown = true;
  proxy.cut();
  await click("follow");
  await reach(() => texts()[0] !== "two Unfollow", "a change");
  await reach(() => texts().includes("one Unfollow") && texts()[0]!.includes("cannot be reached"), "a rollback");
  assert.equal(texts()[0], "two UnfollowThe server cannot be reached.");
  proxy.isDown = false;
  await reach(() => fanfold.state.get() === "live", "a connection");
  await click("follow");
  await reach(() => texts().length === 0, "a timeline without the user");
  proxy.stop();
});

test("tabs share the session", { skip }, async () => {
  const [reader, writer] = await pair();
  const { render, status, reach, texts, fanfold } = openPage(URL_OF_API, localToken("c"));
  render(true);
  assert.equal(status(), "signed-out false 0");
  await writer.publish("post");
  act(() => changeInOtherTab("c", reader.token));
  await reach(() => status() === "live true 0" && texts().length === 1, "a session");
  act(() => changeInOtherTab("c", null));
  await reach(() => status() === "signed-out false 0", "the end of the session");
  const { data } = await fanfold.request<any, {}>("{ viewer { id } }" as never, {});
  assert.equal(data.viewer, null);
});

test("the browser's being online connects at once", { skip }, async () => {
  const [reader] = await pair();
  localStorage.setItem("d", reader.token);
  const proxy = await startProxy(URL_OF_API);
  const { render, status, reach } = openPage(proxy.url, localToken("d"));
  render(true);
  await reach(() => status() === "live true 0", "a connection");
  proxy.isDown = true;
  act(() => report("offline"));
  await reach(() => status() === "lost true 0", "a lost connection");
  // Let the delays grow.
  await act(() => pause(4_000));
  proxy.isDown = false;
  const begun = Date.now();
  act(() => report("online"));
  await reach(() => status() === "live true 0", "a connection");
  assert.ok(Date.now() - begun < 1_000);
  proxy.stop();
});

const FOLLOWERS_PAGE = "nodes { id username } pageInfo { endCursor hasNextPage }";
const FOLLOWERS = `query Followers($id: ID!, $after: String) {
  node(id: $id) { __typename id ... on User { followers(first: 2, after: $after) { ${FOLLOWERS_PAGE} } } }
}`;

interface Followers {
  node: { followers?: { nodes: { id: string; username: string }[]; pageInfo: { hasNextPage: boolean } } } | null;
}

const OPENERS: Record<string, (fanfold: Fanfold) => [Binding, unknown]> = {
  apollo(fanfold) {
    const client = new ApolloClient({ cache: new InMemoryCache(fanfoldCache()), link: fanfoldLink(fanfold) });
    return [apolloBinding(fanfold, client, { follow: gql(FOLLOW), unfollow: gql(UNFOLLOW) }), gql(FOLLOWERS)];
  },
  urql(fanfold) {
    const exchanges = [cacheExchange(urqlCache()), fanfoldExchange(fanfold)];
    const client = new Client({ url: fanfold.url, preferGetMethod: false, exchanges });
    return [urqlBinding(fanfold, client, { follow: FOLLOW as never, unfollow: UNFOLLOW as never }), FOLLOWERS];
  },
};

for (const [name, openBinding] of Object.entries(OPENERS)) {
  test(`${name}: a list grows page by page, and stays while it is read again`, { skip }, async () => {
    const [reader, ...followers] = await Promise.all(Array.from({ length: 6 }, () => register()));
    for (const follower of followers) await follower!.follow(reader!);
    const names = followers.map((follower) => follower!.name).reverse();
    const proxy = await startProxy(URL_OF_API);
    const fanfold = createFanfold({ url: proxy.url, token: memoryToken(reader!.token), webSocket: QuietWebSocket });
    const [binding, query] = openBinding(fanfold);
    const renders: string[] = [];
    let list: ListReading<NonNullable<NonNullable<Followers["node"]>["followers"]>> | undefined;
    function List({ id }: { id: string }) {
      list = useList({ query: query as string, variables: { id }, pageOf: ({ node }: Followers) => node?.followers });
      renders.push(`${list.page?.nodes.length} ${list.isLoading}`);
      return null;
    }
    const root = createRoot(document.createElement("div"));
    ends.push(() => {
      act(() => root.unmount());
      fanfold.close();
      proxy.stop();
    });
    const render = (id?: string) =>
      act(() =>
        root.render(
          <FanfoldProvider binding={binding}>{id !== undefined && <List key={id} id={id} />}</FanfoldProvider>,
        ),
      );
    const reach = async (condition: () => boolean, what: string) => {
      for (let attempt = 0; !condition(); attempt += 1) {
        assert.ok(attempt < 2_000, `${what}: ${JSON.stringify(list)}`);
        await act(() => pause(5));
      }
    };
    const shown = () => list!.page?.nodes.map(({ username }) => username) ?? [];
    const isRead = (count: number) => () => !list!.isLoading && shown().length === count;

    render(reader!.id);
    assert.deepEqual([list!.page, list!.hasMore, list!.isLoading], [undefined, undefined, true]);
    await reach(isRead(2), "the first page");
    act(() => void list!.loadMore());
    await reach(isRead(4), "the second page");
    assert.equal(list!.hasMore, true);

    // What has failed is repeated.
    proxy.isDown = true;
    proxy.cut();
    act(() => void list!.loadMore());
    await reach(() => list!.error !== undefined, "an error");
    assert.deepEqual(shown(), names.slice(0, 4));
    proxy.isDown = false;
    act(() => list!.retry());
    await reach(isRead(5), "the last page");
    assert.deepEqual([list!.hasMore, list!.error], [false, undefined]);

    // That is the last read, not a call that has read nothing.
    proxy.isDown = true;
    proxy.cut();
    act(() => {
      list!.refresh();
      void list!.loadMore();
    });
    await reach(() => list!.error !== undefined, "an error");
    proxy.isDown = false;
    act(() => list!.retry());
    await reach(() => !list!.isLoading && list!.error === undefined, "the list again");

    // Shown at once when it is opened again, and read as far as before.
    render();
    await act(() => pause(50));
    renders.length = 0;
    const late = await register();
    await late.follow(reader!);
    render(reader!.id);
    assert.equal(renders[0], "5 true");
    await reach(() => !list!.isLoading && shown()[0] === late.name, "the list");
    assert.ok(
      renders.every((text) => Number(text.split(" ")[0]) >= 5),
      `${renders}`,
    );
    assert.deepEqual(shown(), [late.name, ...names]);

    render("none");
    await reach(() => list!.error !== undefined, "an error of the server");
    assert.equal(list!.error!.isTransient, false);
  });
}
