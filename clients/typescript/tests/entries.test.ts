// The entries of a timeline after events, compared with the pages of a model of the server.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { appendEntries, applyToEntries, type Entry, holdArrivals, splitArrivals } from "../src/index.js";

/** What puts a post into the timeline: its publication, or a user's repost. */
interface Row {
  position: string;
  post: string;
  user: string | null;
}

/** A model of the server's timeline: its rows, newest first. */
type Model = readonly Row[];

const positionOf = (number: number) => number.toString(16).padStart(16, "0");

/** Returns a page, as the server makes it: it ends with the row that begins the last entry. */
function pageOf(rows: Model, size: number): { entries: Entry[]; hasMore: boolean } {
  const entries = new Map<
    string,
    { key: string; positions: string[]; repostedBy: { id: string }[]; node: { id: string } }
  >();
  for (const { position, post, user } of rows) {
    if (entries.size === size) return { entries: [...entries.values()], hasMore: true };
    const entry = entries.get(post) ?? { key: post, positions: [], repostedBy: [], node: { id: post } };
    entry.positions.push(position);
    if (user !== null) entry.repostedBy.push({ id: user });
    entries.set(post, entry);
  }
  return { entries: [...entries.values()], hasMore: false };
}

const entryOf = (row: Row): Entry => pageOf([row], 1).entries[0]!;

/** Posts are `own` if the viewer follows their author, whose reposts are then not shown. */
const POSTS = ["own 1", "own 2", "own 3", "post 1", "post 2", "post 3", "post 4", "post 5"];
const USERS = ["ada", "ben", "cem", "dua"];

type Step =
  | { kind: "add"; post: string; user: string; position: number }
  | { kind: "delete"; post: string }
  | { kind: "undo"; post: string; user: string }
  | { kind: "more"; size: number }
  | { kind: "unknown" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("add" as const),
      post: fc.constantFrom(...POSTS),
      user: fc.constantFrom(...USERS),
      position: fc.integer({ min: 1, max: 10_000 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), post: fc.constantFrom(...POSTS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("undo" as const),
      post: fc.constantFrom(...POSTS),
      user: fc.constantFrom(...USERS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("more" as const), size: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("unknown" as const) }) },
);

/** Runs the step on the model; returns the rows after it, and the event that the server sends. */
function change(rows: Model, step: Exclude<Step, { kind: "more" }>) {
  const without = (isGone: (row: Row) => boolean) => rows.filter((row) => !isGone(row));
  switch (step.kind) {
    case "add": {
      const user = step.post.startsWith("own") ? null : step.user;
      const position = positionOf(step.position);
      const isKnown = rows.some((row) => row.position === position || (row.post === step.post && row.user === user));
      if (isKnown) return { rows, event: null };
      const row = { position, post: step.post, user };
      const after = [...rows, row].sort((one, other) => (one.position < other.position ? 1 : -1));
      return { rows: after, event: { __typename: "PostAdded", edge: entryOf(row) } };
    }
    case "delete":
      return {
        rows: without(({ post }) => post === step.post),
        event: { __typename: "PostRemoved", postId: step.post },
      };
    case "undo": {
      const { post, user } = step;
      const isGone = (row: Row) => row.post === post && row.user === user;
      return { rows: without(isGone), event: { __typename: "RepostRemoved", postId: post, userId: user } };
    }
    case "unknown":
      return { rows, event: { __typename: "PostPinned", cursor: "" } };
  }
}

/** Reads the next page after the last entry, and further ones until one has a new entry. */
function readMore(rows: Model, before: readonly Entry[], size: number) {
  let entries = before;
  let after = before.at(-1)?.positions[0];
  for (;;) {
    const place = after;
    const page = pageOf(place === undefined ? rows : rows.filter((row) => row.position < place), size);
    entries = appendEntries(entries, page.entries, page.hasMore);
    if (!page.hasMore || entries.length > before.length) return { entries, hasMore: page.hasMore };
    after = page.entries.at(-1)!.positions[0];
  }
}

test("a client that applies each event shows what a page of the same length has", () => {
  const history = fc.tuple(
    fc.array(step, { maxLength: 40 }),
    fc.integer({ min: 1, max: 4 }),
    fc.array(step, { maxLength: 60 }),
  );
  fc.assert(
    fc.property(history, ([before, size, steps]) => {
      let rows: Model = [];
      for (const step of before) if (step.kind !== "more") rows = change(rows, step).rows;
      let { entries, hasMore }: { entries: readonly Entry[]; hasMore: boolean } = pageOf(rows, size);
      for (const step of steps) {
        if (step.kind === "more") {
          if (hasMore) ({ entries, hasMore } = readMore(rows, entries, step.size));
        } else {
          const changed = change(rows, step);
          rows = changed.rows;
          if (changed.event) entries = applyToEntries(entries, changed.event, hasMore);
        }
        const expected = hasMore ? pageOf(rows, entries.length).entries : pageOf(rows, Infinity).entries;
        assert.deepEqual(entries, expected);
      }
    }),
    { numRuns: 10_000 },
  );
});

test("events that a page read meanwhile contains already change nothing", () => {
  const rows = [3, 2, 1].map((number) => ({ position: positionOf(number), post: "post 1", user: USERS[number]! }));
  const { entries } = pageOf(rows, 10);
  for (const row of rows) {
    assert.deepEqual(applyToEntries(entries, { __typename: "PostAdded", edge: entryOf(row) }, false), entries);
  }
});

test("an entry whose newest repost is undone moves down, or to the next page", () => {
  const row = (number: number, post: string, user: string | null) => ({ position: positionOf(number), post, user });
  const { entries } = pageOf([row(9, "post 1", "ada"), row(5, "own 1", null), row(2, "post 1", "ben")], 10);
  const undone = { __typename: "RepostRemoved", postId: "post 1", userId: "ada" };
  assert.deepEqual(
    applyToEntries(entries, undone, false).map(({ key }) => key),
    ["own 1", "post 1"],
  );
  assert.deepEqual(
    applyToEntries(entries, undone, true).map(({ key }) => key),
    ["own 1"],
  );
});

test("arrivals wait above the entries that are shown, except for one's own", () => {
  const entries = [4, 3, 2].map((number) =>
    entryOf({ position: positionOf(number), post: `own ${number}`, user: null }),
  );
  const held = holdArrivals(entries);
  const added = [9, 8, 1].map((number) => entryOf({ position: positionOf(number), post: `own ${number}`, user: null }));
  const all = [...added.slice(0, 2), ...entries, added[2]!];
  assert.deepEqual(splitArrivals(all, null), { shown: all, waiting: 0 });
  assert.deepEqual(splitArrivals(all, held), { shown: all.slice(2), waiting: 2 });
  assert.equal(splitArrivals(all, held, ({ key }) => key === "own 9").waiting, 1);
});
