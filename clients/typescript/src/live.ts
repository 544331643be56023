import type { Entry } from "./entries.js";
import { failureOf, FanfoldError, type GraphQLFailure, rejection } from "./error.js";
import type { Fanfold, UserError } from "./fanfold.js";
import type { RelationChange, RelationState } from "./relation.js";
import type { RelationEvent } from "./relations.js";
import type { Shown } from "./shown.js";
import { createStore, type Store } from "./store.js";
import type { CursorEvent, EventSink } from "./timeline.js";

/** A page of a home timeline. Select these fields, with those of {@link Entry} and `cursor` in `edges`. */
export interface TimelinePage<E> {
  readonly edges: readonly E[];
  readonly pageInfo: { readonly endCursor?: string | null | undefined; readonly hasNextPage: boolean };
  readonly liveCursor?: string | null | undefined;
}

/** The data of a query for a home timeline. Select `viewer { id timeline(first: 20, after: $after) { … } }`. */
export interface TimelineData<E> {
  readonly viewer?: { readonly timeline?: TimelinePage<E> | null | undefined } | null | undefined;
}

/** An entry that can be shown, and continued after. */
export type ListedEntry = Entry & { readonly cursor: string };

/** The documents of a live timeline. `Documents` are those of the cache's library. */
export interface TimelineDocuments<Query, Events> {
  /** A query for the timeline, with the variable `$after: String`, by which further pages are read. */
  readonly query: Query;
  /** The subscription to the timeline, with the variable `$after: String`. */
  readonly events: Events;
  /** The other variables of both. */
  readonly variables?: object | undefined;
}

/** A timeline in a cache. */
export interface TimelineState<E> {
  /** The entries of all pages read so far, newest first. */
  readonly entries: readonly E[];
  /** True if there are further pages. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why the last read failed; undefined if it succeeded. */
  readonly error: FanfoldError | undefined;
}

/** A home timeline in a cache, kept up to date while it has listeners. */
export interface LiveTimeline<E> extends Store<TimelineState<E>> {
  /** Reads the next page. */
  loadMore(): Promise<void>;
  /** Reads the timeline again, as far as it was read before. */
  refresh(): void;
}

/** How a binding keeps a timeline in its cache. */
export interface TimelineCache<E, Event> {
  /** Reads a page from the network into the cache: the first as the list, further ones at its end. Returns the page. */
  fetch(after: string | null): Promise<TimelinePage<E>>;
  /** Returns the list in the cache; null if it is not there. Fails if something that was selected is missing. */
  read(): TimelinePage<E> | null;
  /** Calls the listener after each change of the list, until the returned function is called. */
  watch(listener: () => void): () => void;
  /** Subscribes to events, and applies each to the cache before it passes it on. */
  subscribe(after: string | null | undefined, sink: EventSink<Event>): () => void;
}

/** Keeps a timeline in a cache up to date while it has listeners. */
export function createLiveTimeline<E extends ListedEntry, Event extends CursorEvent>(
  fanfold: Fanfold,
  cache: TimelineCache<E, Event>,
): LiveTimeline<E> {
  const state = createStore<TimelineState<E>>({ entries: [], hasMore: false, isLoading: true, error: undefined });
  const change = (changes: Partial<TimelineState<E>>) => state.set({ ...state.get(), ...changes });
  /** True while the list in the cache is replaced: what was shown stays until all of it is there. */
  let isReplacing = false;
  /** The number of reads that run or wait. */
  let loads = 0;
  const show = (changes: Partial<TimelineState<E>> = {}) => {
    try {
      const page = isReplacing ? null : cache.read();
      change({ ...changes, ...(page && { entries: page.edges, hasMore: page.pageInfo.hasNextPage }) });
    } catch (cause) {
      change({ ...changes, error: errorOf(cause) });
    }
  };

  /** Pages are read one after the other. */
  let reading: Promise<unknown> = Promise.resolve();
  const inTurn = <Value>(task: () => Promise<Value>): Promise<Value> => {
    loads += 1;
    change({ isLoading: true });
    const result = reading.then(task);
    const end = (error?: FanfoldError) => {
      loads -= 1;
      show({ isLoading: loads > 0, error });
    };
    reading = result.then(
      () => end(),
      (cause: unknown) => end(errorOf(cause)),
    );
    return result;
  };

  /** Reads pages until one satisfies a condition, or the list ends. */
  const fetchUntil = async (after: string | null, isEnough: (page: TimelinePage<E>) => boolean) => {
    const first = await cache.fetch(after);
    for (let page = first; page.pageInfo.hasNextPage && !isEnough(page);) {
      page = await cache.fetch(page.pageInfo.endCursor ?? null);
    }
    return first;
  };

  const begin = () =>
    fanfold.watchTimeline<Event>({
      read: () =>
        inTurn(async () => {
          const { length } = state.get().entries;
          let count = 0;
          isReplacing = true;
          try {
            const first = await fetchUntil(null, ({ edges }) => (count += edges.length) >= length);
            count = 0;
            return first.liveCursor;
          } finally {
            // What was read in part would show less than before.
            isReplacing = count > 0;
          }
        }),
      subscribe: (after, sink) => cache.subscribe(after, sink),
      apply: () => {},
      report: (error) => show({ error }),
    });

  let watch: ReturnType<typeof begin> | undefined;
  let stopWatching = () => {};
  let listeners = 0;
  return {
    get: state.get,
    subscribe(listener) {
      const stop = state.subscribe(listener);
      listeners += 1;
      if (listeners === 1) {
        stopWatching = cache.watch(() => show());
        watch = begin();
      }
      return () => {
        stop();
        listeners -= 1;
        if (listeners > 0) return;
        stopWatching();
        watch?.stop();
        watch = undefined;
      };
    },
    async loadMore() {
      if (loads > 0 || !state.get().hasMore) return;
      // The end of a list that was replaced in part is not the end of what is shown.
      if (isReplacing) return watch?.refresh();
      const loadNext = () => {
        const { entries } = state.get();
        const keys = new Set(entries.map(({ key }) => key));
        const isNew = ({ edges }: TimelinePage<E>) => edges.some(({ key }) => !keys.has(key));
        // The end of the last page may have been removed: continue after what is left.
        return fetchUntil(entries.at(-1)?.cursor ?? null, isNew);
      };
      await fanfold.hold(() => inTurn(loadNext)).catch(() => {});
    },
    refresh: () => watch?.refresh(),
  };
}

/** The user of a button that follows. */
export interface FollowedUser {
  readonly id: string;
  readonly isPrivate: boolean;
  readonly relation: (RelationState & { readonly id: string }) | null;
}

/** The data of a mutation that follows or unfollows, under any name. */
export type FollowData = { readonly [field: string]: { readonly userErrors: readonly UserError[] } | null };

/** The mutations that a button needs, each with the variable `$input`. Select `relation` or `user { relation }`. */
export interface FollowDocuments<Mutation> {
  readonly follow: Mutation;
  readonly unfollow: Mutation;
}

/** The documents of live relations. */
export interface RelationDocuments<Query, Events> {
  /** A query for `relations(userIds: $userIds)`. */
  readonly query: Query;
  /** The subscription to `relationChanged`. */
  readonly events: Events;
}

/** What the hooks of `@fanfold/client/react` do in a cache. */
export interface Binding<Query = any, Events = any> {
  readonly fanfold: Fanfold;
  /** The users whose relations are shown. */
  readonly shown: Shown;
  timeline<E extends ListedEntry>(documents: TimelineDocuments<Query, Events>): LiveTimeline<E>;
  /** Keeps the shown relations up to date, until the returned function is called. */
  relations(documents: RelationDocuments<Query, Events>): () => void;
  /** Follows or unfollows a user, shown at once. Returns the errors to show to the user. */
  follow(change: RelationChange, user: FollowedUser): Promise<readonly UserError[]>;
}

/** How a binding keeps relations in its cache. */
export interface RelationCache {
  /** Reads relations from the network into the cache. */
  read(userIds: readonly string[]): Promise<unknown>;
  /** Subscribes to events, which the cache applies. */
  subscribe(sink: EventSink<RelationEvent> & { connected(): void }): () => void;
}

/** Keeps the shown relations up to date, until the returned function is called. */
export const watchShown = (fanfold: Fanfold, shown: Shown, { read, subscribe }: RelationCache): (() => void) =>
  fanfold.watchRelations({ read: () => Promise.all(shown.batches().map(read)), subscribe });

/** Returns the errors of the payload of a mutation. */
export const userErrorsOf = (data: FollowData | null | undefined): readonly UserError[] =>
  Object.values(data ?? {})[0]?.userErrors ?? [];

/** Returns the page of a query for a timeline. */
export function pageOf<E>(data: TimelineData<E> | null | undefined): TimelinePage<E> {
  const page = data?.viewer?.timeline;
  if (page) return page;
  const code = data?.viewer ? "UNAVAILABLE" : "UNAUTHENTICATED";
  throw rejection([{ message: "The data has no `viewer { timeline { … } }`.", extensions: { code } }]);
}

/** The forms in which libraries report errors of a response. */
interface Combined {
  readonly errors?: readonly GraphQLFailure[];
  readonly graphQLErrors?: readonly GraphQLFailure[];
  readonly networkError?: unknown;
}

/** Returns the error that a library has reported. */
export function errorOf(cause: unknown): FanfoldError {
  const { errors, graphQLErrors = errors, networkError = cause } = (cause ?? {}) as Combined;
  if (cause instanceof FanfoldError || !graphQLErrors?.length) return failureOf(networkError);
  return rejection(graphQLErrors);
}
