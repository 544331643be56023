import { type AnyVariables, type Client, type Exchange, gql, subscriptionExchange } from "@urql/core";
import type { Cache, CacheExchangeOpts, Entity, ResolveInfo, UpdateResolver } from "@urql/exchange-graphcache";
import type { Operation, Result } from "./document.js";
import { appendEntries, applyToEntries, type Entry, type TimelineEvent } from "./entries.js";
import { errorOf, type FanfoldError } from "./error.js";
import type { Fanfold } from "./fanfold.js";
import { linksOf, listsOf, valueOf } from "./graphcache.js";
import { createList, type ListCache, listOf } from "./list.js";
import {
  type Binding,
  createLiveTimeline,
  type FollowDocuments,
  type ListedEntry,
  pageOf,
  type TimelineData,
  type TimelineDocuments,
  type TimelinePage,
  watchShown,
} from "./live.js";
import { expectRelation, isFollowing, type RelationChange, type RelationState } from "./relation.js";
import { CONNECTIONS, EMBEDDED_TYPES, KEY_FIELDS, POSSIBLE_TYPES } from "./schema.js";
import { createShown } from "./shown.js";
import type { CursorEvent, EventSink } from "./timeline.js";
import { mutate, type Query } from "./urqlMutation.js";

/** What the context of a subscription contains for {@link fanfoldExchange}. */
interface ExchangeContext {
  readonly fanfold?: { connected?(): void };
}

/** The fields that only some kinds of events have. Without a schema, graphcache expects each of them in all events. */
const NO_FIELDS = { edge: null, postId: null, userId: null, relation: null };

/** Returns the data of a subscription with all of these fields. */
const complete = (data: object | null | undefined) =>
  data &&
  Object.fromEntries(Object.entries(data).map(([field, event]) => [field, event && { ...NO_FIELDS, ...event }]));

/** Executes all operations with the client: queries and mutations over HTTP, subscriptions over its WebSocket. */
export const fanfoldExchange = (fanfold: Fanfold): Exchange =>
  subscriptionExchange({
    enableAllOperations: true,
    forwardSubscription: (body, { kind, context }) => ({
      subscribe(sink) {
        const operation = body as Operation;
        const next = (result: object) => sink.next(result as Parameters<typeof sink.next>[0]);
        if (kind === "subscription") {
          const connected = () => (context as ExchangeContext).fanfold?.connected?.();
          const nextEvent = (result: Result) => next({ ...result, data: complete(result.data as object) });
          // Of errors in a list, the library makes a result with the data of the last event.
          return { unsubscribe: fanfold.subscribe(operation, { next: nextEvent, error: sink.error, connected }) };
        }
        // The library distinguishes lists, of errors of a response, from other errors.
        const error = (error: FanfoldError) => sink.error(error.failures.length > 0 ? error.failures : error);
        let isOpen = true;
        fanfold.execute(operation).then(
          (result) => {
            if (!isOpen) return;
            next(result);
            sink.complete();
          },
          (cause: FanfoldError) => isOpen && error(cause),
        );
        return { unsubscribe: () => void (isOpen = false) };
      },
    }),
  });

const Positions = gql`
  fragment FanfoldPositions on PostEdge {
    cursor
    positions
  }
`;

/** Returns an edge in the cache as an entry, in which keys of objects are ids. */
const entryOf = (cache: Cache, edge: string): Entry & { edge: string } => ({
  key: valueOf(cache, edge, "key"),
  positions: valueOf(cache, edge, "positions") ?? [],
  repostedBy: linksOf(cache, edge, "repostedBy").map((id) => ({ id })),
  node: { id: valueOf(cache, edge, "node") },
  edge,
});

/** Writes the entries of a list, and what has changed of them. */
function writeEntries(cache: Cache, list: string, entries: readonly (Entry & { edge: string })[]): void {
  for (const { edge, positions, repostedBy } of entries) {
    if (valueOf<readonly string[]>(cache, edge, "positions").join() === positions.join()) continue;
    const [typename, cursor] = ["PostEdge", valueOf<string>(cache, edge, "cursor")];
    cache.writeFragment(Positions, { __typename: typename, cursor, positions });
    cache.link(
      edge,
      "repostedBy",
      repostedBy.map(({ id }) => id),
    );
  }
  cache.link(
    list,
    "edges",
    entries.map(({ edge }) => edge),
  );
}

/** Returns `hasNextPage` of a page. */
function hasMore(cache: Cache, page: string): boolean {
  const pageInfo = valueOf<string | null>(cache, page, "pageInfo");
  return !pageInfo || cache.resolve(pageInfo, "hasNextPage") === true;
}

/** Returns the entries of a page of a home timeline. */
const entriesOf = (cache: Cache, page: string) => linksOf(cache, page, "edges").map((edge) => entryOf(cache, edge));

/** Appends the objects of a page that are not in a list. */
function append(cache: Cache, list: string, page: string, field: "edges" | "nodes"): void {
  const nodeOf = (entry: string) => (field === "edges" ? cache.resolve(entry, "node") : entry);
  const before = linksOf(cache, list, field);
  const nodes = new Set(before.map(nodeOf));
  const added = linksOf(cache, page, field).filter((entry) => !nodes.has(nodeOf(entry)));
  if (added.length > 0) cache.link(list, field, [...before, ...added]);
}

/** Appends a page to the list that it continues: the first page of the same size. */
function appendPage(cache: Cache, args: Record<string, unknown>, { parentKey, fieldName }: ResolveInfo): void {
  const page = cache.resolve(parentKey, fieldName, args as never);
  if (!args["after"] || typeof page !== "string") return;
  const pageInfo = valueOf<string | null>(cache, page, "pageInfo");
  for (const list of listsOf(cache, parentKey, fieldName, args, args["first"])) {
    if (fieldName === "timeline") {
      writeEntries(cache, list, appendEntries(entriesOf(cache, list), entriesOf(cache, page), hasMore(cache, page)));
    } else {
      append(cache, list, page, "edges");
      append(cache, list, page, "nodes");
    }
    if (pageInfo) cache.link(list, "pageInfo", pageInfo);
  }
}

/** Applies an event to the timelines with the same replies. */
const onEvent: UpdateResolver<{ timeline: TimelineEvent<{ cursor: string }> }> = ({ timeline: event }, args, cache) => {
  const { edge, postId, userId, ...rest } = event;
  const added = edge && cache.keyOfEntity({ __typename: "PostEdge", cursor: edge.cursor });
  const inCache: TimelineEvent<Entry & { edge: string }> = {
    ...rest,
    edge: added ? entryOf(cache, added) : undefined,
    postId: postId && `Post:${postId}`,
    userId: userId && `User:${userId}`,
  };
  const viewer = cache.resolve("Query", "viewer") as Entity;
  if (!viewer) return;
  for (const list of listsOf(cache, viewer, "timeline", args)) {
    const entries = entriesOf(cache, list);
    const after = applyToEntries(entries, inCache, hasMore(cache, list));
    if (after !== entries) writeEntries(cache, list, after);
  }
};

/** Returns the expected payload of a follow or unfollow. */
const expected =
  (change: RelationChange) =>
  ({ input }: { input: { userId: string } }, cache: Cache) => {
    const user = { __typename: "User", id: input.userId };
    const key = valueOf<string | undefined>(cache, user, "relation");
    // A relation that is not in the cache is not shown.
    if (!key) return null;
    const valueAt = (field: string) => valueOf<string>(cache, key, field) ?? null;
    const [status, followingSince, requestedSince] = ["status", "followingSince", "requestedSince"].map(valueAt);
    const now: RelationState = { status: status!, followingSince, requestedSince };
    const after = expectRelation(change, now, cache.resolve(user, "isPrivate") === true);
    const step = Number(isFollowing(after)) - Number(isFollowing(now));
    const count = cache.resolve(user, "followerCount") as number | null | undefined;
    const relation = { __typename: "Relation", id: valueAt("id"), ...after };
    return {
      __typename: change === "follow" ? "FollowPayload" : "UnfollowPayload",
      relation,
      user: { ...user, relation, ...(typeof count === "number" && { followerCount: count + step }) },
      // The viewer's counts come with the response.
      viewer: null,
      userErrors: [],
    };
  };

/**
 * Returns options of graphcache: the keys of objects, endless lists, to which pages with `after` are appended, live
 * timelines, and optimistic follows. Select `cursor` of edges.
 *
 * @param own Further options, which take precedence field by field.
 */
export function fanfoldCache(own: CacheExchangeOpts = {}): CacheExchangeOpts {
  const keys: NonNullable<CacheExchangeOpts["keys"]> = {
    PostEdge: ({ cursor }) => (cursor as string | undefined) ?? null,
  };
  for (const type of EMBEDDED_TYPES) keys[type] = () => null;
  for (const [type, field] of Object.entries(KEY_FIELDS)) keys[type] = (data) => data[field] as string;
  const append: UpdateResolver = (_parent, args, cache, info) =>
    appendPage(cache, args as Record<string, unknown>, info);
  const updates: NonNullable<CacheExchangeOpts["updates"]> = { ...own.updates };
  for (const [type, fields] of Object.entries(CONNECTIONS)) {
    updates[type] = { ...Object.fromEntries(fields.map((field) => [field, append])), ...own.updates?.[type] };
  }
  updates["Subscription"] = { timeline: onEvent as UpdateResolver, ...own.updates?.["Subscription"] };
  const optimistic = { follow: expected("follow"), unfollow: expected("unfollow") } as NonNullable<
    CacheExchangeOpts["optimistic"]
  >;
  const possibleTypes = POSSIBLE_TYPES as unknown as Record<string, string[]>;
  return {
    possibleTypes,
    ...own,
    keys: { ...keys, ...own.keys },
    updates,
    optimistic: { ...optimistic, ...own.optimistic },
  };
}

/** Reads a query from the network into the cache. Fails if there is no data. */
async function read<Data>(client: Client, query: Query, variables: AnyVariables) {
  const { data, error } = await client.query(query, variables, { requestPolicy: "network-only" }).toPromise();
  if (!data) throw errorOf(error);
  return { data: data as Data, error };
}

const IN_CACHE = { requestPolicy: "cache-only" } as const;

/**
 * Returns how a list is read into the cache, and from it.
 *
 * @param listOf Returns the list in the data of a response. Fails if it is not there.
 * @param shownOf Returns the list in the data in the cache.
 * @param data The data in the cache at the beginning.
 */
const listIn = <Data, Page>(
  client: Client,
  query: Query,
  variables: AnyVariables,
  listOf: (data: Data, error: unknown) => Page,
  shownOf: (data: Data) => Page | null | undefined,
  data?: Data,
): ListCache<Page> => ({
  async fetch(after) {
    const { data, error } = await read<Data>(client, query, after === null ? variables : { ...variables, after });
    return listOf(data, error);
  },
  read: () => (data && shownOf(data)) ?? null,
  watch: (listener) =>
    client.query<Data>(query, variables, IN_CACHE).subscribe((result) => {
      data = result.data;
      listener();
    }).unsubscribe,
});

/** Subscribes to the events of a field, which the cache applies. */
const subscribe = <E>(
  client: Client,
  events: Query,
  variables: AnyVariables,
  field: string,
  sink: EventSink<E> & { connected?(): void },
) =>
  client.subscription(events, variables, { fanfold: sink } as object).subscribe(({ data, error }) => {
    if (data) sink.next((data as Record<string, E>)[field]!);
    else if (error) sink.error(errorOf(error));
  }).unsubscribe;

/**
 * Connects urql with the hooks of `@fanfold/client/react`.
 *
 * @param client A client with the exchanges `cacheExchange(fanfoldCache())` and {@link fanfoldExchange}.
 */
export function urqlBinding(
  fanfold: Fanfold,
  client: Client,
  mutations: FollowDocuments<Query>,
): Binding<Query, Query> {
  const shown = createShown();
  return {
    fanfold,
    shown,
    timeline<E extends ListedEntry>({ query, events, variables = {} }: TimelineDocuments<Query, Query>) {
      return createLiveTimeline<E, CursorEvent>(fanfold, {
        ...listIn<TimelineData<E>, TimelinePage<E>>(client, query, variables, pageOf, (data) => data.viewer?.timeline),
        subscribe: (after, sink) => subscribe(client, events, { ...variables, after }, "timeline", sink),
      });
    },
    list({ query, variables = {}, pageOf: select }) {
      const data = client.readQuery(query, variables, IN_CACHE)?.data;
      return createList(listIn(client, query, variables, (data, error) => listOf(select(data), error), select, data));
    },
    relations: ({ query, events }) =>
      watchShown(fanfold, shown, {
        read: (userIds) => read(client, query, { userIds }),
        subscribe: (sink) => subscribe(client, events, {}, "relationChanged", sink),
      }),
    follow: (change, user) => mutate(client, mutations[change], { userId: user.id }),
  };
}

export { errorOf } from "./error.js";
export type { Query } from "./urqlMutation.js";
