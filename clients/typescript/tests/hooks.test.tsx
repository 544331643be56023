// The hooks in a page with each cache, against a real server. `react.test.tsx` has sessions and whole pages.

import { close } from "./harness/dom.js";

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { act, type ReactNode, useRef, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";

import { createFanfold, createStore, memoryToken, type Store } from "../src/index.js";
import { FanfoldProvider, type FollowedUser, useBookmark, useFollow, useLike, useTimeline } from "../src/react.js";
import { type Cached, CACHES, type Shown, type ShownPost } from "./harness/caches.js";
import { startProxy } from "./harness/proxy.js";
import { QuietWebSocket } from "./harness/socket.js";
import { pause, register, skip, URL_OF_API, type User } from "./harness/world.js";

const ends: (() => unknown)[] = [close];
after(async () => {
  for (const end of ends.reverse()) await end();
});

for (const [name, open] of Object.entries(CACHES)) {
  const openPage = async (user: User) => {
    const proxy = await startProxy(URL_OF_API);
    const fanfold = createFanfold({ url: proxy.url, token: memoryToken(user.token), webSocket: QuietWebSocket });
    const cached = open(fanfold);
    const element = document.createElement("div");
    document.body.append(element);
    const root = createRoot(element);
    ends.push(proxy.stop, fanfold.close, () => act(() => root.unmount()));
    const render = (page: ReactNode) =>
      act(() => root.render(<FanfoldProvider binding={cached.binding}>{page}</FanfoldProvider>));
    const reach = async (condition: () => boolean, what: string) => {
      for (let attempt = 0; !condition(); attempt += 1) {
        assert.ok(attempt < 2_000, `${what}: ${element.innerHTML}`);
        await act(() => pause(5));
      }
    };
    return { proxy, fanfold, cached, element, render, reach };
  };

  test(`${name}: new entries wait while the element that contains the timeline is scrolled`, { skip }, async () => {
    const [reader, writer] = [await register("reader"), await register("writer")];
    await reader.follow(writer);
    for (let index = 0; index < 7; index += 1) await writer.publish(`post ${index}`);
    const { fanfold, cached, element, render, reach } = await openPage(reader);
    const functions = new Set<() => Promise<void>>();
    function Home({ documents }: Pick<Cached, "documents">) {
      const list = useRef<HTMLDivElement>(null);
      const { entries, waiting, loadMore } = useTimeline<Shown>({
        query: documents.home,
        events: documents.events,
        isAtTop: () => (list.current?.scrollTop ?? 0) < 80,
      });
      functions.add(loadMore);
      return (
        <div ref={list}>
          <i>{waiting}</i>
          {entries.map(({ key, node }) => (
            <p key={key}>{node.content}</p>
          ))}
        </div>
      );
    }
    render(<Home documents={cached.documents} />);
    const entries = () => element.querySelectorAll("p").length;
    await reach(() => entries() === 5 && fanfold.state.get() === "live", "a page");
    const list = element.firstElementChild!;
    const scroll = (top: number) =>
      act(() => {
        list.scrollTop = top;
        list.dispatchEvent(new (window as any).Event("scroll"));
      });
    scroll(100);
    await writer.publish("waiting");
    await reach(() => element.querySelector("i")!.textContent === "1", "an entry that waits");
    assert.equal(entries(), 5);
    scroll(0);
    assert.equal(entries(), 6);
    await writer.publish("live");
    await reach(() => entries() === 7, "a live entry");
    const [loadMore, ...others] = functions;
    await act(() => loadMore!());
    assert.equal(entries(), 9);
    assert.equal(others.length, 0);
  });

  test(`${name}: the error of a follow disappears when the relation changes`, { skip }, async () => {
    const [reader, other] = [await register("reader"), await register("other")];
    const { proxy, fanfold, cached, element, render, reach } = await openPage(reader);
    const user = createStore<FollowedUser | undefined>(undefined);
    const { relations, relationEvents } = cached.documents;
    ends.push(cached.binding.relations({ query: relations, events: relationEvents }));
    await cached.profile(other.id, user.set);
    function Button({ of: { get, subscribe } }: { of: Store<FollowedUser | undefined> }) {
      const { label, toggle, error } = useFollow(useSyncExternalStore(subscribe, get)!);
      return (
        <button onClick={toggle}>
          {label} {error}
        </button>
      );
    }
    render(<Button of={user} />);
    const text = () => element.textContent!.trim();
    await reach(() => fanfold.state.get() === "live", "a connection");
    proxy.isDown = true;
    proxy.cut();
    await act(async () => element.querySelector("button")!.click());
    await reach(() => text() === "Follow The server cannot be reached.", "an error");
    await act(() => pause(100));
    assert.equal(text(), "Follow The server cannot be reached.");
    proxy.isDown = false;
    await reader.follow(other);
    await reach(() => text() === "Unfollow", "the relation, without the error");
    await reader.unfollow(other);
    await reach(() => text() === "Follow", "the relation, without the error");
  });

  test(`${name}: buttons of reactions follow each click, and report why one is rejected`, { skip }, async () => {
    const [reader, writer] = [await register("reader"), await register("writer")];
    const id = await writer.publish("post");
    const { proxy, cached, element, render, reach } = await openPage(reader);
    const post = createStore<ShownPost | undefined>(undefined);
    await cached.post(id, post.set);
    const texts: string[] = [];
    function Buttons({ of: { get, subscribe } }: { of: Store<ShownPost | undefined> }) {
      const shown = useSyncExternalStore(subscribe, get)!;
      const [like, bookmark] = [useLike(shown), useBookmark(shown)];
      texts.push(`${like.count} ${like.isSet}`);
      return (
        <>
          <button name="like" onClick={like.toggle}>
            {like.count} {String(like.isSet)} {like.error}
          </button>
          <button name="bookmark" onClick={bookmark.toggle}>
            {String(bookmark.isSet)} {bookmark.error}
          </button>
        </>
      );
    }
    render(<Buttons of={post} />);
    const button = (which: string) => element.querySelector<HTMLElement>(`[name=${which}]`)!;
    const text = (which: string) => button(which).textContent!.trim();
    const click = (which: string) => act(() => button(which).click());
    const settled = () => cached.binding.reactions.wanted.get().size === 0;
    assert.equal(text("like"), "0 false");
    texts.length = 0;
    // Each click shows at once, though the server is slow; then the last one has been sent.
    proxy.isWithholding = true;
    for (const expected of ["1 true", "0 false", "1 true", "0 false", "1 true"]) {
      click("like");
      assert.equal(text("like"), expected);
    }
    click("bookmark");
    assert.equal(text("bookmark"), "true");
    await reach(() => proxy.withheld === 2, "the responses");
    click("like");
    proxy.isWithholding = false;
    proxy.release();
    await reach(settled, "the outcome");
    assert.equal(text("like"), "0 false");
    assert.equal(text("bookmark"), "true");
    assert.deepEqual([...new Set(texts)].sort(), ["0 false", "1 true"]);

    proxy.isDown = true;
    proxy.cut();
    click("like");
    click("bookmark");
    assert.deepEqual([text("like"), text("bookmark")], ["1 true", "false"]);
    const unreachable = "The server cannot be reached.";
    await reach(() => text("like") === `0 false ${unreachable}`, "an error");
    await reach(() => text("bookmark") === `true ${unreachable}`, "an error");
    await act(() => pause(100));
    assert.deepEqual([text("like"), text("bookmark")], [`0 false ${unreachable}`, `true ${unreachable}`]);
    proxy.isDown = false;
    click("like");
    assert.equal(text("like"), "1 true");
    await reach(settled, "the outcome");
    assert.equal(text("like"), "1 true");
  });
}
