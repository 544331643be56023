// What can happen to connections and servers while timelines are live: nothing is lost, nothing is shown twice, and all
// of it is in order, in the core and through each cache.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  applicationToken,
  applyToEntries,
  createFanfold,
  createStore,
  type Fanfold,
  publishKey,
  type Store,
} from "../src/index.js";
import { EVENTS, HOME } from "./documents.js";
import { CACHES, type Shown, textOf, timelineOf } from "./harness/caches.js";
import { type Proxy, startProxy } from "./harness/proxy.js";
import { type OwnServer, skipServer, startServer } from "./harness/server.js";
import { listeningSocket } from "./harness/socket.js";
import { ask, pause, register, skip, until, URL_OF_API, type User } from "./harness/world.js";

/** Shows a home timeline without a cache. */
function showInCore(fanfold: Fanfold): Store<readonly Shown[]> {
  const entries = createStore<readonly Shown[]>([]);
  let hasMore = false;
  fanfold.timeline<any>({
    events: EVENTS as never,
    async read() {
      const { data } = await fanfold.request<any, {}>(HOME as never, {});
      const { edges, pageInfo, liveCursor } = data.viewer.timeline;
      hasMore = pageInfo.hasNextPage;
      entries.set(edges);
      return liveCursor;
    },
    apply: (event) => entries.set(applyToEntries(entries.get(), event, hasMore)),
  });
  return entries;
}

/** Shows a home timeline in a cache. */
const showIn =
  (open: (typeof CACHES)[keyof typeof CACHES]) =>
  (fanfold: Fanfold): Store<readonly Shown[]> => {
    const { get, subscribe } = timelineOf(open(fanfold));
    return { get: () => get().entries, subscribe };
  };

const CLIENTS = {
  core: showInCore,
  apollo: showIn(CACHES.apollo),
  urql: showIn(CACHES.urql),
  relay: showIn(CACHES.relay),
};

/** A client that shows a timeline. */
interface Page {
  readonly name: string;
  readonly proxy: Proxy;
  readonly fanfold: Fanfold;
  /** The contents, newest first. */
  texts(): string[];
  /** The contents of all events that have arrived. */
  readonly received: readonly string[];
  /** All contents in the order in which they were first shown. */
  readonly arrived: readonly string[];
}

/** Opens a client through a proxy of its own. */
async function openPage(
  name: keyof typeof CLIENTS,
  url: string,
  token: () => string,
  keepAlive: number,
): Promise<Page> {
  const proxy = await startProxy(url);
  const source = async () => token();
  const received: string[] = [];
  const webSocket = listeningSocket(({ type, payload }) => {
    if (type === "next") received.push(payload.data?.timeline.edge?.node.content);
  });
  const fanfold = createFanfold({ url: proxy.url, token: applicationToken(source), keepAlive, webSocket });
  const entries = CLIENTS[name](fanfold);
  const texts = () => entries.get().map(textOf);
  const arrived: string[] = [];
  entries.subscribe(() =>
    arrived.push(
      ...texts()
        .filter((text) => !arrived.includes(text))
        .reverse(),
    ),
  );
  return { name, proxy, fanfold, texts, arrived, received };
}

interface Stage {
  readonly pages: readonly Page[];
  readonly server: OwnServer | undefined;
  readonly reader: User;
  readonly writer: User;
  /** The token of the reader that clients get from now on. */
  token: string;
  /** Publishes numbered posts of the writer, and returns their contents. */
  publish(count: number, prefix: string): Promise<string[]>;
}

interface Scenario {
  /** Disturbs clients that are live, and returns the contents that were published meanwhile. */
  disturb(stage: Stage): Promise<string[]>;
  /** True if the timeline is read again, so that not each event arrives. By default, it is read once. */
  isReadAgain?: boolean;
  /** The number of tabs of each client. */
  tabs?: number;
  /** The interval of pings, in milliseconds. */
  keepAlive?: number;
  /** True if the test starts a server, to stop it. */
  hasServer?: boolean;
}

const areAll = (pages: readonly Page[], state: string) => () =>
  pages.every(({ fanfold }) => fanfold.state.get() === state);

/** Cuts sockets again and again after this number of the server's frames. */
const cutAfter = (frames: number): Scenario => ({
  async disturb({ pages, publish }) {
    for (const { proxy } of pages) {
      proxy.cutAfter = frames;
      proxy.cut();
    }
    const contents = await publish(8, "cut");
    // With a single frame, only the acknowledgement arrives.
    await until(() => pages.every(({ proxy }) => proxy.sockets >= 3), "further connections");
    for (const { proxy } of pages) proxy.cutAfter = 0;
    return contents;
  },
});

/** Closes sockets with a code. */
const closedWith = (code: number): Scenario => ({
  async disturb({ pages, publish }) {
    for (const { proxy } of pages) proxy.closeAll(code);
    return publish(2, "closed");
  },
});

/** Makes the server unreachable while a task runs. */
async function down<Value>(pages: readonly Page[], task: () => Promise<Value>): Promise<Value> {
  for (const { proxy } of pages) {
    proxy.isDown = true;
    proxy.cut();
  }
  await until(areAll(pages, "lost"), "lost connections");
  const value = await task();
  for (const { proxy } of pages) proxy.isDown = false;
  return value;
}

/** The server keeps fewer events than these writers publish, of whom each may publish few posts at a time. */
const WRITERS = 26;
const POSTS = 40;

const SCENARIOS: Record<string, Scenario> = {
  "cut after 1 frame": cutAfter(1),
  "cut after 2 frames": cutAfter(2),
  "cut after 3 frames": cutAfter(3),
  "cut after 4 frames": cutAfter(4),
  "cut after 5 frames": cutAfter(5),
  "closed with 1001: the server shuts down": closedWith(1001),
  "closed with 1013: the server is overloaded": closedWith(1013),
  "closed with 4408: the connection was not initialized in time": closedWith(4408),
  "closed with 4410: the client reads too slowly": closedWith(4410),
  "closed with 4403: the token has expired": {
    async disturb(stage) {
      const expired = stage.token;
      stage.token = await stage.reader.login();
      await ask("mutation { logout { userErrors { message } } }", {}, expired);
      await until(() => stage.pages.every(({ fanfold }) => fanfold.state.get() !== "live"), "the end of the session");
      return stage.publish(2, "expired");
    },
  },
  "a server that cannot be reached for a while": {
    disturb: ({ pages, publish }) => down(pages, () => publish(3, "down")),
  },
  "a connection over which nothing arrives any more": {
    keepAlive: 1_000,
    async disturb({ pages, publish }) {
      for (const { proxy } of pages) proxy.isSilent = true;
      const contents = await publish(2, "silent");
      await until(areAll(pages, "lost"), "lost connections");
      for (const { proxy } of pages) proxy.isSilent = false;
      return contents;
    },
  },
  "two tabs, both cut": { ...cutAfter(3), tabs: 2 },
  "more missed events than the server keeps": {
    isReadAgain: true,
    disturb: ({ pages, reader, publish }) =>
      down(pages, async () => {
        const writers = await Promise.all(Array.from({ length: WRITERS }, () => register("many")));
        for (const other of writers) await reader.follow(other);
        const publishAll = async (other: User) => {
          for (let index = 0; index < POSTS; index += 1) await other.publish(`one of many ${index}`);
        };
        await Promise.all(writers.map(publishAll));
        return publish(1, "missed");
      }),
  },
  "a reset": {
    isReadAgain: true,
    async disturb({ reader, publish }) {
      const other = await register("other");
      await other.publish("from another");
      await reader.follow(other);
      return publish(2, "reset");
    },
  },
  "a server that is killed and started again": {
    hasServer: true,
    async disturb({ pages, server, writer }) {
      const contents: string[] = [];
      for (const round of [1, 2]) {
        const due = Array.from({ length: 6 }, (_, index) => `killed ${round}.${index}`);
        let published = 0;
        const publishing = (async () => {
          for (const content of due) {
            const { key } = publishKey(content);
            // While the server is down, requests fail.
            while (!(await writer.publish(content, key).catch(() => undefined))) await pause(100);
            published += 1;
          }
        })();
        await until(() => published >= 2, "posts");
        await server!.kill();
        await until(areAll(pages, "lost"), "lost connections");
        await pause(500);
        await server!.start();
        await publishing;
        await until(areAll(pages, "live"), "connections");
        contents.push(...due);
      }
      return contents;
    },
  },
};

/** Opens all clients, and plays a scenario. */
async function play(scenario: Scenario, stage: Omit<Stage, "publish" | "pages">) {
  const { disturb, isReadAgain = false, tabs = 1, keepAlive = 10_000 } = scenario;
  const names = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[];
  const url = stage.server?.url ?? URL_OF_API;
  const pages = await Promise.all(
    names.flatMap((name) => Array.from({ length: tabs }, () => openPage(name, url, () => stage.token, keepAlive))),
  );
  const publish = async (count: number, prefix: string) => {
    const contents = Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
    for (const content of contents) await stage.writer.publish(content);
    return contents;
  };
  try {
    await until(areAll(pages, "live"), "connections");
    const contents = await publish(2, "before");
    await until(() => pages.every(({ texts }) => texts().length === 2), "the first events");
    contents.push(...(await disturb(Object.assign(stage, { pages, publish }))));
    contents.push(...(await publish(2, "after")));
    const newest = contents.at(-1)!;
    await until(() => pages.every(({ texts }) => texts()[0] === newest), "the last event");
    // Nothing arrives after what was published last.
    await pause(300);
    const expected = await stage.reader.timeline();
    for (const { name, texts, arrived, received, proxy } of pages) {
      assert.deepEqual(texts(), expected.slice(0, texts().length), `${name}: the timeline of the server`);
      assert.equal(proxy.requests > 1, isReadAgain, `${name}: reads again`);
      if (isReadAgain) continue;
      assert.deepEqual(received, contents, `${name}: each event once, in order`);
      assert.deepEqual(arrived, contents, `${name}: all events shown, in order`);
    }
  } finally {
    for (const { fanfold, proxy } of pages) {
      fanfold.close();
      proxy.stop();
    }
  }
}

// The tests mostly wait.
describe("a live timeline loses nothing through", { concurrency: 4 }, () => {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    test(name, { skip: skip || (scenario.hasServer && skipServer) }, async () => {
      const server = scenario.hasServer ? await startServer() : undefined;
      try {
        const [reader, writer] = [await register("reader", server?.url), await register("writer", server?.url)];
        await reader.follow(writer);
        await play(scenario, { reader, writer, server, token: await reader.login() });
      } finally {
        await server?.stop();
      }
    });
  }
});
