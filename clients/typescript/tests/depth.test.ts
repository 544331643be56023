// How far a timeline is read: page by page, and again after a reset.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { createFanfold, memoryToken } from "../src/index.js";
import { CACHES, textOf, timelineOf } from "./harness/caches.js";
import { startProxy } from "./harness/proxy.js";
import { QuietWebSocket } from "./harness/socket.js";
import { pause, register, skip, until, URL_OF_API, type User } from "./harness/world.js";

/** The number of entries of a page. */
const PAGE = 5;

const ends: (() => void)[] = [];
after(() => {
  for (const end of ends) end();
});

for (const [name, open] of Object.entries(CACHES)) {
  const openTimeline = async (reader: User) => {
    const proxy = await startProxy(URL_OF_API);
    const fanfold = createFanfold({ url: proxy.url, token: memoryToken(reader.token), webSocket: QuietWebSocket });
    const timeline = timelineOf(open(fanfold));
    const stop = timeline.subscribe(() => {});
    ends.push(stop, fanfold.close, proxy.stop);
    await until(() => fanfold.state.get() === "live", "a connection");
    const texts = () => timeline.get().entries.map(textOf);
    /** Lets the server reset the timeline, by a follow, and returns the numbers of entries that it has had meanwhile. */
    const reset = async () => {
      const [followed, lengths, before] = [await register("followed"), [] as number[], proxy.requests];
      const stopCounting = timeline.subscribe(() => void lengths.push(texts().length));
      await followed.publish("of a followed one");
      await reader.follow(followed);
      await until(() => texts()[0] === "of a followed one" && !timeline.get().isLoading, "the list");
      stopCounting();
      return { lengths, requests: proxy.requests - before };
    };
    return { proxy, timeline, texts, reset };
  };

  test(`${name}: a reset keeps the number of entries`, { skip }, async () => {
    const [reader, writer] = [await register("reader"), await register("writer")];
    await reader.follow(writer);
    for (let index = 0; index < 6 * PAGE; index += 1) await writer.publish(`post ${index}`);
    const { timeline, texts, reset } = await openTimeline(reader);
    for (let pages = 2; pages <= 5; pages += 1) {
      await timeline.loadMore();
      assert.equal(texts().length, pages * PAGE);
    }
    const { lengths, requests } = await reset();
    assert.deepEqual(
      lengths.filter((length) => length !== 5 * PAGE),
      [],
    );
    assert.equal(requests, 5);
    assert.deepEqual(texts(), (await reader.timeline()).slice(0, 5 * PAGE));
  });

  test(`${name}: a reset keeps the number of entries, though several pages have the same ones`, { skip }, async () => {
    const [reader, writer, second, stranger] = await Promise.all(
      ["reader", "writer", "second", "stranger"].map((prefix) => register(prefix)),
    );
    for (const user of [writer!, second!]) await reader!.follow(user);
    const publish = async (author: User, count: number) => {
      const posts: string[] = [];
      for (let index = 0; index < count; index += 1) posts.push(await author.publish(`post ${index}`));
      return posts;
    };
    const posts = await publish(stranger!, PAGE);
    await publish(writer!, 2 * PAGE);
    for (const post of posts) await writer!.repost(post);
    await publish(writer!, 2 * PAGE + 2);
    for (const post of posts) await second!.repost(post);
    const { timeline, texts, reset } = await openTimeline(reader!);
    const lengths = [texts().length];
    for (let pages = 2; pages <= 5; pages += 1) {
      await timeline.loadMore();
      lengths.push(texts().length);
    }
    // The fourth page and the fifth have the reposts of the first.
    assert.deepEqual(lengths, [5, 10, 15, 17, 22]);
    const after = await reset();
    assert.ok(
      after.lengths.every((length) => length >= 22),
      `${after.lengths}`,
    );
  });

  test(
    `${name}: the next page is read once however often it is demanded, and not again by itself`,
    { skip },
    async () => {
      const [reader, writer] = [await register("reader"), await register("writer")];
      await reader.follow(writer);
      for (let index = 0; index < 3 * PAGE; index += 1) await writer.publish(`post ${index}`);
      const { proxy, timeline, texts } = await openTimeline(reader);
      const { loadMore } = timeline;
      const requests = proxy.requests;
      await Promise.all([loadMore(), loadMore(), loadMore()]);
      assert.equal(texts().length, 2 * PAGE);
      assert.equal(proxy.requests, requests + 1);

      proxy.isWithholding = true;
      const failing = loadMore();
      await until(() => proxy.withheld === 1, "a response");
      proxy.cutRequests();
      await failing;
      proxy.isWithholding = false;
      const state = timeline.get();
      assert.equal(state.error?.isTransient, true);
      assert.deepEqual([state.isLoading, state.hasMore, state.entries.length], [false, true, 2 * PAGE]);
      await pause(1_500);
      assert.equal(proxy.requests, requests + 2);
      assert.equal(timeline.get().error, state.error);

      const retry = loadMore();
      assert.equal(timeline.get().error, undefined);
      assert.equal(timeline.get().isLoading, true);
      await retry;
      assert.deepEqual(texts(), await reader.timeline());
      assert.equal(proxy.requests, requests + 3);
    },
  );
}
