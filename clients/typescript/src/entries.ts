/** An entry of a home timeline, as a page or an event has it. Select these fields of `PostEdge`, and more if you like. */
export interface Entry {
  readonly key: string;
  /** One position for each user of `repostedBy`, in the same order, or else one. */
  readonly positions: readonly string[];
  readonly repostedBy: readonly { readonly id: string }[];
  readonly node: { readonly id: string };
}

/**
 * An event of the subscription `timeline`: `PostAdded` with its `edge`, `PostRemoved` with `postId`, `RepostRemoved` with
 * `postId` and `userId`. Events of other kinds change no entries.
 */
export interface TimelineEvent<E> {
  readonly __typename?: string | undefined;
  readonly edge?: E | undefined;
  readonly postId?: string | undefined;
  readonly userId?: string | undefined;
}

/** Returns the position that is the entry's place in its list. */
const placeOf = ({ positions }: Entry): string => positions[0] ?? "";

const isNewer = (one: string, other: string): number => (one < other ? 1 : one > other ? -1 : 0);

/** Returns the entry with those of its positions that are not below a place; undefined if none is left. */
function above<E extends Entry>(entry: E, place: string): E | undefined {
  const { positions, repostedBy } = entry;
  const isAbove = (index: number) => positions[index]! >= place;
  if (positions.every((_, index) => isAbove(index))) return positions.length > 0 ? entry : undefined;
  return only(entry, positions, repostedBy, isAbove);
}

/** Returns the entry with some of these positions and their users; undefined if none is left. */
function only<E extends Entry>(
  entry: E,
  positions: Entry["positions"],
  repostedBy: Entry["repostedBy"],
  isKept: (index: number) => boolean,
): E | undefined {
  const kept = positions.filter((_, index) => isKept(index));
  return kept.length === 0
    ? undefined
    : { ...entry, positions: kept, repostedBy: repostedBy.filter((_, index) => isKept(index)) };
}

/** Merges two entries of the same key: the positions of both, each user's newest, newest first. */
function merge<E extends Entry>(one: E, other: E): E {
  const [newer, older] = placeOf(one) >= placeOf(other) ? [one, other] : [other, one];
  // A post is in the timeline as its author's own or by reposts: what it was before, it is no longer.
  if (newer.repostedBy.length === 0 || older.repostedBy.length === 0) return newer;
  const rows = [newer, older].flatMap(({ positions, repostedBy }) =>
    repostedBy.map((user, index) => ({ user, position: positions[index]! })),
  );
  rows.sort((one, other) => isNewer(one.position, other.position));
  const users = new Set<string>();
  const kept = rows.filter(({ user }) => !users.has(user.id) && users.add(user.id));
  if (kept.length === newer.positions.length) return newer;
  return { ...newer, positions: kept.map(({ position }) => position), repostedBy: kept.map(({ user }) => user) };
}

/**
 * Arranges entries as a page has them: one for each key, the newest first, and if there are further pages, without what
 * is below the last entry, which the next page has.
 */
function arrange<E extends Entry>(entries: readonly E[], hasMore: boolean, floor = ""): readonly E[] {
  const byKey = new Map<string, E>();
  for (const entry of entries) {
    const same = byKey.get(entry.key);
    byKey.set(entry.key, same ? merge(same, entry) : entry);
  }
  const cut = (entries: Iterable<E>, place: string) => [...entries].flatMap((entry) => above(entry, place) ?? []);
  const sorted = cut(byKey.values(), floor).sort((one, other) => isNewer(placeOf(one), placeOf(other)));
  const last = sorted.at(-1);
  return last && hasMore ? cut(sorted, placeOf(last)) : sorted;
}

/**
 * Returns the entries of a home timeline after an event, whatever the order in which events arrive: a page of as many
 * entries that the server returns then has the same ones, in the same order, with the same `repostedBy`.
 *
 * If there are further pages (`hasMore`), entries and reposts below the last entry are left out, because they belong to
 * these; an empty list stays empty. Read the next page after the `cursor` of the last entry that is left, and append it
 * with {@link appendEntries}. Events of unknown kinds change nothing. `listedAt` of an entry whose newest repost was
 * undone stays that of the repost until the entry is read again.
 *
 * @param entries The entries, newest first, as pages and this function return them. They are not changed.
 * @param hasMore `pageInfo.hasNextPage` of the last page.
 */
export function applyToEntries<E extends Entry>(
  entries: readonly E[],
  event: TimelineEvent<E>,
  hasMore: boolean,
): readonly E[] {
  const last = entries.at(-1);
  if (!last && hasMore) return entries;
  const floor = last && hasMore ? placeOf(last) : "";
  const { __typename: kind, edge, postId, userId } = event;
  if (kind === "PostAdded" && edge) return arrange([...entries, edge], hasMore, floor);
  if (kind !== "PostRemoved" && kind !== "RepostRemoved") return entries;
  if (entries.every(({ node }) => node.id !== postId)) return entries;
  const rest = entries.flatMap((entry) => {
    if (entry.node.id !== postId) return [entry];
    if (kind === "PostRemoved") return [];
    const { positions, repostedBy } = entry;
    const isKept = (index: number) => repostedBy[index]?.id !== userId;
    return only(entry, positions, repostedBy, isKept) ?? [];
  });
  return arrange(rest, hasMore, floor);
}

/**
 * Returns the entries of a home timeline with those of the next page. If the page has no new entry, but reposts of those
 * that are there, nothing is left out, and the page after it is due.
 *
 * @param hasMore `pageInfo.hasNextPage` of that page.
 */
export function appendEntries<E extends Entry>(
  entries: readonly E[],
  page: readonly E[],
  hasMore: boolean,
): readonly E[] {
  const keys = new Set(entries.map(({ key }) => key));
  return arrange([...entries, ...page], hasMore && page.some(({ key }) => !keys.has(key)));
}

/** The entries that were shown when further ones began to wait. */
export interface Held {
  readonly keys: ReadonlySet<string>;
  /** The place of the first of them. */
  readonly place: string;
}

/** Lets entries that arrive from now on wait above these: pass the result to {@link splitArrivals}. */
export const holdArrivals = (entries: readonly Entry[]): Held => ({
  keys: new Set(entries.map(({ key }) => key)),
  place: entries[0] ? placeOf(entries[0]) : "",
});

/** The entries to show, and the number of those that wait. */
export interface Split<E> {
  readonly shown: readonly E[];
  readonly waiting: number;
}

/**
 * Splits entries into those to show and those that wait above them, so that a page does not move while its user reads.
 *
 * @param held The entries that were shown before; null to show all.
 * @param isOwn Returns true for entries that never wait, such as the viewer's own posts.
 */
export function splitArrivals<E extends Entry>(
  entries: readonly E[],
  held: Held | null,
  isOwn: (entry: E) => boolean = () => false,
): Split<E> {
  if (held === null) return { shown: entries, waiting: 0 };
  const shown = entries.filter((entry) => held.keys.has(entry.key) || placeOf(entry) < held.place || isOwn(entry));
  return { shown, waiting: entries.length - shown.length };
}
