import type { Entry } from "./entries.js";
import { rejection } from "./error.js";
import type { Fanfold, UserError } from "./fanfold.js";
import { createReader, type List, type ListCache, type ListDocument, type ListPage, type ReadState } from "./list.js";
import type { Reactions } from "./reaction.js";
import type { RelationChange, RelationState } from "./relation.js";
import type { RelationEvent } from "./relations.js";
import type { Shown } from "./shown.js";
import type { Store } from "./store.js";
import type { CursorEvent, EventSink, Watch } from "./timeline.js";

/** A page of a home timeline. Select these fields, with those of {@link Entry} and `cursor` in `edges`. */
export interface TimelinePage<E> extends ListPage {
  readonly edges: readonly E[];
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
export interface TimelineState<E> extends ReadState {
  /** The entries of all pages read so far, newest first. */
  readonly entries: readonly E[];
  /** True if there are further pages. */
  readonly hasMore: boolean;
}

/** A home timeline in a cache, kept up to date while it has listeners. */
export interface LiveTimeline<E> extends Store<TimelineState<E>> {
  /** As {@link List.loadMore}. */
  readonly loadMore: () => Promise<void>;
  /** Reads the timeline again, as far as it was read before. */
  readonly refresh: () => void;
}

/** How a binding keeps a timeline in its cache. */
export interface TimelineCache<E, Event> extends ListCache<TimelinePage<E>> {
  /** Subscribes to events, and applies each to the cache before it passes it on. */
  subscribe(after: string | null | undefined, sink: EventSink<Event>): () => void;
}

/** Keeps a timeline in a cache up to date while it has listeners. */
export function createLiveTimeline<E extends ListedEntry, Event extends CursorEvent>(
  fanfold: Fanfold,
  cache: TimelineCache<E, Event>,
): LiveTimeline<E> {
  let watch: Watch | undefined;
  const refresh = () => watch?.refresh();
  const reader = createReader(
    cache,
    (page) => ({ entries: page?.edges ?? [], hasMore: page?.pageInfo.hasNextPage ?? false }),
    () => {
      watch = fanfold.watchTimeline<Event>({
        read: async () => (await reader.replace()).liveCursor,
        subscribe: (after, sink) => cache.subscribe(after, sink),
        apply: () => {},
        report: (error) => reader.show({ error }),
      });
      return () => {
        watch?.stop();
        watch = undefined;
      };
    },
  );
  // The end of the last page may have been removed: continue after what is left.
  const after = ({ edges }: TimelinePage<E>) => edges.at(-1)?.cursor;
  /** A page may have no new entry, but reposts of those that are there. */
  const hasNew = (list: TimelinePage<E>) => {
    const keys = new Set(list.edges.map(({ key }) => key));
    return ({ edges }: TimelinePage<E>) => edges.some(({ key }) => !keys.has(key));
  };
  return {
    get: reader.get,
    subscribe: reader.subscribe,
    loadMore: () => fanfold.hold(() => reader.append(after, hasNew, refresh)),
    refresh,
  };
}

/** The user of a button that follows. */
export interface FollowedUser {
  readonly id: string;
  readonly isPrivate: boolean;
  readonly relation: (RelationState & { readonly id: string }) | null;
}

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
  /** Reads an endless list. Missing in libraries that have lists of their own. */
  list?<Data, Page extends ListPage>(document: ListDocument<Query, Data, Page>): List<Page>;
  /** Keeps the shown relations up to date, until the returned function is called. */
  relations(documents: RelationDocuments<Query, Events>): () => void;
  /** Follows or unfollows a user, shown at once. Returns the errors to show to the user. */
  follow(change: RelationChange, user: FollowedUser): Promise<readonly UserError[]>;
  /** Likes and bookmarks. Missing in apps without them. */
  readonly reactions?: Reactions;
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

/** Returns the page of a query for a timeline. */
export function pageOf<E>(data: TimelineData<E> | null | undefined): TimelinePage<E> {
  const page = data?.viewer?.timeline;
  if (page) return page;
  const code = data?.viewer ? "UNAVAILABLE" : "UNAUTHENTICATED";
  throw rejection([{ message: "The data has no `viewer { timeline { … } }`.", extensions: { code } }]);
}
