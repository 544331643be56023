// What happens at the same time: reads, events, sessions, and what the callers of the package do meanwhile.

import { changeInOtherTab, close } from "./harness/dom.js";

import assert from "node:assert/strict";
import { after, mock, test } from "node:test";

import { createBackoff } from "../src/backoff.js";
import {
  applicationToken,
  createFanfold,
  type Fanfold,
  FanfoldError,
  type FanfoldOptions,
  localToken,
  memoryToken,
} from "../src/index.js";
import { createList } from "../src/list.js";
import { EVENTS, HOME, RELATION_EVENTS, RELATIONS } from "./documents.js";
import { CACHES, textOf, timelineOf } from "./harness/caches.js";
import { type Proxy, startProxy } from "./harness/proxy.js";
import { QuietWebSocket } from "./harness/socket.js";
import { pause, register, skip, until, URL_OF_API, type User } from "./harness/world.js";

const ends: (() => unknown)[] = [close];
after(async () => {
  for (const end of ends.reverse()) await end();
});

function open(options: Partial<FanfoldOptions> & { url: string }): Fanfold {
  const fanfold = createFanfold({ webSocket: QuietWebSocket, ...options });
  ends.push(fanfold.close);
  return fanfold;
}

async function openProxy(): Promise<Proxy> {
  const proxy = await startProxy(URL_OF_API);
  ends.push(proxy.stop);
  return proxy;
}

async function pair(): Promise<[User, User]> {
  const [reader, writer] = [await register("reader"), await register("writer")];
  await reader.follow(writer);
  return [reader, writer];
}

/** Reads the first page of a home timeline. */
async function readHome(fanfold: Fanfold): Promise<string> {
  const { data } = await fanfold.request<any, {}>(HOME as never, {});
  return data.viewer.timeline.liveCursor;
}

for (const [name, openCache] of Object.entries(CACHES)) {
  const openTimeline = async (count: number) => {
    const [reader, writer] = await pair();
    for (let index = 0; index < count; index += 1) await writer.publish(`post ${index}`);
    const proxy = await openProxy();
    const fanfold = open({ url: proxy.url, token: memoryToken(reader.token) });
    const timeline = timelineOf(openCache(fanfold));
    const texts = () => timeline.get().entries.map(textOf);
    const lengths: number[] = [];
    timeline.subscribe(() => void lengths.push(texts().length));
    await until(() => fanfold.state.get() === "live", "a connection");
    return { reader, writer, proxy, fanfold, timeline, texts, lengths };
  };

  test(`${name}: the next page is not read while the list is replaced`, { skip }, async () => {
    const { reader, writer, proxy, timeline, texts } = await openTimeline(10);
    // No event reports these.
    proxy.isDown = true;
    proxy.cut();
    for (let index = 10; index < 18; index += 1) await writer.publish(`post ${index}`);
    while ((await reader.timeline())[0] !== "post 17") await pause();
    proxy.isDown = false;
    timeline.refresh();
    const ignored = timeline.loadMore();
    assert.equal(timeline.get().isLoading, true);
    await until(() => !timeline.get().isLoading, "the list");
    await ignored;
    await timeline.loadMore();
    const shown = texts();
    assert.ok(shown.length >= 10);
    assert.deepEqual(shown, (await reader.timeline()).slice(0, shown.length));
  });

  test(`${name}: a timeline is loading until its last read has ended`, { skip }, async () => {
    const { proxy, timeline, texts } = await openTimeline(12);
    proxy.isWithholding = true;
    const more = timeline.loadMore();
    await until(() => proxy.withheld === 1, "the response of the next page");
    timeline.refresh();
    proxy.release();
    await more;
    assert.equal(timeline.get().isLoading, true);
    assert.equal(texts().length, 10);
    proxy.isWithholding = false;
    proxy.release();
    await until(() => !timeline.get().isLoading, "the list");
    assert.equal(texts().length, 10);
  });

  test(`${name}: a list stays as it is shown if it was replaced in part`, { skip }, async () => {
    const { reader, proxy, timeline, texts, lengths } = await openTimeline(12);
    await timeline.loadMore();
    assert.equal(texts().length, 10);
    lengths.length = 0;
    proxy.isWithholding = true;
    timeline.refresh();
    await until(() => proxy.withheld === 1, "the response of the first page");
    proxy.release();
    await until(() => proxy.withheld === 1, "the response of the second page");
    proxy.isDown = true;
    proxy.cutRequests();
    await until(() => timeline.get().error !== undefined, "an error");
    assert.equal(timeline.get().isLoading, false);
    assert.equal(texts().length, 10);
    proxy.isDown = proxy.isWithholding = false;
    // Reads the list again, since it has no end in the cache at which it could go on.
    await timeline.loadMore();
    await until(() => !timeline.get().isLoading, "the list");
    assert.equal(timeline.get().error, undefined);
    assert.deepEqual(
      lengths.filter((length) => length !== 10),
      [],
    );
    await timeline.loadMore();
    assert.deepEqual(texts(), await reader.timeline());
  });

  test(`${name}: a list is read again as far as it is shown`, { skip }, async () => {
    const { reader, timeline, texts, lengths } = await openTimeline(17);
    for (const length of [10, 15]) {
      await timeline.loadMore();
      assert.equal(texts().length, length);
    }
    lengths.length = 0;
    timeline.refresh();
    await until(() => !timeline.get().isLoading, "the list");
    assert.deepEqual(
      lengths.filter((length) => length !== 15),
      [],
    );
    await timeline.loadMore();
    assert.deepEqual(texts(), await reader.timeline());
  });

  test(`${name}: the state of a timeline has its own fields only`, { skip }, async () => {
    const { timeline, writer, texts } = await openTimeline(1);
    await writer.publish("live");
    await until(() => texts()[0] === "live", "an event");
    assert.deepEqual(Object.keys(timeline.get()).sort(), ["entries", "error", "hasMore", "isLoading"]);
  });
}

test("a connection stays live when a request does not reach the server", { skip }, async () => {
  const [reader] = await pair();
  const proxy = await openProxy();
  const fanfold = open({ url: proxy.url, token: memoryToken(reader.token) });
  const failures: FanfoldError[] = [];
  let reads = 0;
  fanfold.relations({
    events: RELATION_EVENTS as never,
    read: async () => void (reads += 1),
  });
  await until(() => fanfold.state.get() === "live", "a connection");
  // Events begin to arrive within a second: relations are read then.
  assert.equal(reads, 0);
  proxy.isDown = true;
  const states: string[] = [];
  fanfold.state.subscribe(() => void states.push(fanfold.state.get()));
  fanfold.timeline<any>({
    events: EVENTS as never,
    read: () => readHome(fanfold),
    apply: () => {},
    report: (error) => void (error && failures.push(error)),
  });
  await until(() => failures.length > 0, "a failure");
  await until(() => reads === 1, "the relations");
  assert.deepEqual(states, []);
});

test("a page that was paused keeps its connection", { skip }, async () => {
  const [reader] = await pair();
  const fanfold = open({ url: URL_OF_API, token: memoryToken(reader.token), keepAlive: 400 });
  const connections: string[] = [];
  ends.push(fanfold.state.subscribe(() => void connections.push(fanfold.state.get())));
  ends.push(timelineOf(CACHES.apollo(fanfold)).subscribe(() => {}));
  await until(() => fanfold.state.get() === "live", "a connection");
  connections.length = 0;
  for (let time = 0; time < 3; time += 1) {
    const end = Date.now() + 800;
    while (Date.now() < end);
    await pause(300);
  }
  assert.deepEqual(connections, []);
});

test("what changes in the cache is shown while a list is read again", async () => {
  let page = { nodes: ["before", "second"], pageInfo: { hasNextPage: false } };
  let onChange = () => {};
  const list = createList<typeof page>({
    fetch: () => new Promise(() => {}),
    read: () => page,
    watch: (listener) => ((onChange = listener), () => {}),
  });
  ends.push(list.subscribe(() => {}));
  await pause();
  const shownAfter = (nodes: string[]) => {
    page = { ...page, nodes };
    onChange();
    return list.get().page?.nodes;
  };
  assert.deepEqual(shownAfter(["after", "second"]), ["after", "second"]);
  assert.deepEqual(shownAfter(["first page"]), ["after", "second"]);
  assert.equal(list.get().isLoading, true);
});

test("requests whose token is rejected together ask the application for one", async () => {
  let asked = 0;
  const session = applicationToken(async () => `token ${(asked += 1)}`);
  assert.equal(await session.token(), "token 1");
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => session.reject("token 1"))), [true, true, true]);
  assert.equal(await session.token(), "token 2");
  // One that was sent before, and rejected late.
  assert.equal(await session.reject("token 1"), true);
  assert.equal(asked, 2);
});

test("a user who signs out while the application issues a token stays signed out", async () => {
  const issue: ((token: string) => void)[] = [];
  const session = applicationToken(() => new Promise((resolve) => issue.push(resolve)));
  const first = session.token();
  issue[0]!("expired");
  assert.equal(await first, "expired");
  const rejection = session.reject("expired");
  await until(() => issue.length === 2, "another request for a token");
  session.set(null);
  issue[1]!("fresh");
  assert.equal(await rejection, false);
  assert.equal(await session.token(), null);
  assert.equal(session.signedIn.get(), false);
});

test("a token that the application issues again is not tried again", async () => {
  let asked = 0;
  const session = applicationToken(async () => {
    asked += 1;
    return "expired";
  });
  await session.token();
  assert.deepEqual(await Promise.all([session.reject("expired"), session.reject("expired")]), [false, false]);
  assert.equal(asked, 2);
  assert.equal(session.signedIn.get(), false);
});

test("an application that fails to issue a token is asked again", async () => {
  const outcomes = [Promise.reject(new Error("offline")), Promise.resolve("token")];
  const session = applicationToken(() => outcomes.shift()!);
  await assert.rejects(session.token(), { message: "offline" });
  assert.equal(await session.token(), "token");
});

test("a request that was rejected is not sent again for another user", { skip }, async () => {
  const [reader, other] = await pair();
  const ended = await reader.login();
  const token = memoryToken(ended);
  const fanfold = open({ url: URL_OF_API, token });
  await fanfold.execute({ query: "mutation { logout { userErrors { code } } }" });
  const publish = 'mutation { publish(input: { content: "of the reader" }) { post { id } } }';
  const response = fanfold.execute({ query: publish });
  // Another user signs in meanwhile, in another tab.
  setTimeout(() => token.set(other.token));
  assert.equal((await response).errors?.[0]?.extensions?.["code"], "UNAUTHENTICATED");
  assert.deepEqual(await other.timeline(), []);
  assert.equal(token.get(), other.token);
  const { data } = await fanfold.request<any, {}>("{ viewer { user { id } } }" as never, {});
  assert.equal(data.viewer.user.id, other.id);
});

test("a rejected token does not end the session that another tab has begun", { skip }, async () => {
  const [reader, other] = await pair();
  localStorage.setItem("shared", "an expired token");
  const fanfold = open({ url: URL_OF_API, token: localToken("shared") });
  const response = fanfold.execute({ query: "{ viewer { id } }" });
  // The event of another tab's change arrives later.
  localStorage.setItem("shared", reader.token);
  assert.equal((await response).errors?.[0]?.extensions?.["code"], "UNAUTHENTICATED");
  assert.equal(localStorage.getItem("shared"), reader.token);
  changeInOtherTab("shared", reader.token);
  assert.equal(fanfold.signedIn.get(), true);
  const { data } = await fanfold.request<any, {}>("{ viewer { user { id } } }" as never, {});
  assert.equal(data.viewer.user.id, reader.id);
  // And a token is deleted where it is the one that was rejected.
  localStorage.setItem("shared", other.token);
  await fanfold.execute({ query: "mutation { logoutEverywhere { userErrors { code } } }" });
  await fanfold.execute({ query: "{ viewer { id } }" });
  assert.equal(localStorage.getItem("shared"), null);
});

test("events of relations wait while relations are read, and reads take turns", { skip }, async () => {
  const [reader, writer] = await pair();
  const proxy = await openProxy();
  const fanfold = open({ url: proxy.url, token: memoryToken(reader.token) });
  const statuses: string[] = [];
  let [reads, running, most] = [0, 0, 0];
  fanfold.relations<any>({
    events: RELATION_EVENTS as never,
    async read() {
      reads += 1;
      running += 1;
      most = Math.max(most, running);
      const { data } = await fanfold.request<any, any>(RELATIONS as never, { userIds: [writer.id] });
      running -= 1;
      statuses.push(...data.relations.map(({ status }: { status: string }) => status));
    },
    apply: ({ relation }) => void statuses.push(relation.status),
  });
  proxy.isWithholding = true;
  await until(() => proxy.withheld === 1, "a response");
  // The response is older than the event, which arrives before it.
  await writer.follow(reader);
  await pause(700);
  assert.deepEqual(statuses, []);
  proxy.isWithholding = false;
  proxy.release();
  await until(() => statuses.length === 2, "the response and the event");
  assert.deepEqual(statuses, ["FOLLOWING", "MUTUAL"]);

  // Another connection is made while relations are read.
  proxy.isWithholding = true;
  proxy.closeAll(1001);
  await until(() => proxy.withheld === 1, "the response of the second read");
  proxy.closeAll(1001);
  await until(() => fanfold.state.get() !== "live", "the end of the connection");
  await until(() => fanfold.state.get() === "live", "another connection");
  await pause(1_300);
  assert.equal(reads, 2);
  proxy.isWithholding = false;
  proxy.release();
  await until(() => statuses.length === 4, "the responses");
  assert.equal(most, 1);
});

test("delays grow until an attempt lasts", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  try {
    const backoff = createBackoff();
    let attempts = 0;
    /** Returns the delay of the next attempt, in half seconds. */
    const delay = () => {
      const before = attempts;
      backoff.retry(() => (attempts += 1));
      for (let steps = 1; ; steps += 1) {
        mock.timers.tick(500);
        if (attempts > before) return steps;
      }
    };
    // Half of the longest delay is fixed.
    const isLong = (steps: number) => steps >= 15 && steps <= 30;
    assert.equal(delay(), 1);
    for (let attempt = 0; attempt < 5; attempt += 1) delay();
    assert.ok(isLong(delay()));
    mock.timers.tick(1_000);
    assert.ok(isLong(delay()));
    mock.timers.tick(16_000);
    assert.equal(delay(), 1);
    for (let attempt = 0; attempt < 6; attempt += 1) delay();
    backoff.succeed();
    assert.equal(delay(), 1);
  } finally {
    mock.timers.reset();
  }
});

test("a timeline that is stopped by its report stays stopped", { skip }, async () => {
  const [reader] = await pair();
  const proxy = await openProxy();
  const fanfold = open({ url: proxy.url, token: memoryToken(reader.token) });
  let reads = 0;
  const watch = fanfold.timeline<any>({
    events: EVENTS as never,
    read() {
      reads += 1;
      return readHome(fanfold);
    },
    apply: () => {},
    report: () => watch.stop(),
  });
  await until(() => reads === 1, "a read");
  await pause(300);
  assert.equal(fanfold.state.get(), "idle");

  // A retry would follow this error.
  proxy.isDown = true;
  proxy.cut();
  let failures = 0;
  const failing = fanfold.timeline<any>({
    events: EVENTS as never,
    read: () => readHome(fanfold),
    apply: () => {},
    report(error) {
      if (error) failures += 1;
      failing.stop();
    },
  });
  await until(() => failures === 1, "a failure");
  await pause(1_500);
  assert.equal(failures, 1);
});

test("a subscription that ends before it is returned is stopped", async () => {
  const fanfold = open({ url: "http://127.0.0.1/", token: memoryToken("token") });
  const failures: (string | undefined)[] = [];
  let stopped = 0;
  fanfold.watchTimeline({
    read: async () => null,
    subscribe(_after, { error }) {
      error(new FanfoldError("at once", [{ message: "at once", extensions: { code: "BAD_USER_INPUT" } }]));
      return () => (stopped += 1);
    },
    apply: () => {},
    report: (error) => void failures.push(error?.code),
  });
  await pause();
  assert.equal(stopped, 1);
  assert.deepEqual(failures, ["BAD_USER_INPUT"]);
});

test("a sink that fails loses no other events", { skip }, async () => {
  const [reader, writer] = await pair();
  const fanfold = open({ url: URL_OF_API, token: memoryToken(reader.token) });
  const contents: string[] = [];
  fanfold.timeline<any>({
    events: EVENTS as never,
    read: () => readHome(fanfold),
    apply({ edge }) {
      contents.push(edge.node.content);
      if (contents.length === 1) throw new Error("of the application");
    },
  });
  await until(() => fanfold.state.get() === "live", "a connection");
  const errors: Error[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => void errors.push(error));
  try {
    await fanfold.hold(async () => {
      for (const content of ["first", "second", "third"]) await writer.publish(content);
      await pause(700);
      assert.deepEqual(contents, []);
    });
    await writer.publish("fourth");
    await until(() => contents.length === 4, "all events");
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
  assert.deepEqual(contents, ["first", "second", "third", "fourth"]);
  assert.deepEqual(
    errors.map(({ message }) => message),
    ["of the application"],
  );
});
