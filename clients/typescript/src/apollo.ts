import {
  type ApolloCache,
  type ApolloClient,
  ApolloLink,
  type FieldPolicy,
  Observable,
  type TypePolicies,
} from "@apollo/client";
import { print } from "@apollo/client/utilities";
import type { DocumentNode } from "graphql";
import type { CachedEdge, CachedList } from "./apolloList.js";
import { mutate } from "./apolloMutation.js";
import { appendEntries, applyToEntries, type Entry, type TimelineEvent } from "./entries.js";
import { errorOf, FanfoldError } from "./error.js";
import type { Fanfold } from "./fanfold.js";
import { createList, listOf } from "./list.js";
import {
  type Binding,
  createLiveTimeline,
  type FollowDocuments,
  type FollowedUser,
  type ListedEntry,
  pageOf,
  type TimelineData,
  type TimelineDocuments,
  watchShown,
} from "./live.js";
import { expectRelation, isFollowing, type RelationChange } from "./relation.js";
import type { RelationEvent } from "./relations.js";
import { CONNECTIONS, KEY_FIELDS, listArguments, POSSIBLE_TYPES } from "./schema.js";
import { createShown } from "./shown.js";
import type { CursorEvent } from "./timeline.js";

/** What the context of a subscription contains for {@link fanfoldLink}. */
interface LinkContext {
  readonly fanfold?: { connected(): void };
}

/** Executes all operations with the client: queries and mutations over HTTP, subscriptions over its WebSocket. */
export const fanfoldLink = (fanfold: Fanfold): ApolloLink =>
  new ApolloLink(
    ({ query, operationName, variables, operationType, getContext }) =>
      new Observable((observer) => {
        const operation = { query: print(query), operationName, variables };
        if ((operationType as string) !== "subscription") {
          fanfold.execute<Record<string, any>>(operation).then(
            (result) => {
              observer.next(result as ApolloLink.Result);
              observer.complete();
            },
            (error: unknown) => observer.error(error),
          );
          return;
        }
        return fanfold.subscribe<Record<string, any>>(operation, {
          next: (result) => observer.next(result as ApolloLink.Result),
          error: (error) => observer.error(error),
          connected: () => (getContext() as LinkContext).fanfold?.connected(),
        });
      }),
  );

/** Returns the edges of a home timeline with those of the next page. */
function appendToTimeline(edges: readonly CachedEdge[], page: readonly CachedEdge[], hasMore: boolean) {
  const entryOf = (edge: CachedEdge): Entry & { edge: CachedEdge } => ({
    key: edge.key!,
    positions: edge.positions!,
    repostedBy: edge.repostedBy!.map((user) => ({ ...user, id: user.__ref })),
    node: { id: edge.node.__ref },
    edge,
  });
  const entries = appendEntries(edges.map(entryOf), page.map(entryOf), hasMore);
  return entries.map(({ edge, positions, repostedBy }) => ({
    ...edge,
    positions,
    repostedBy: repostedBy.map(({ id }) => ({ __ref: id })),
  }));
}

/** Returns entries with those of the next page that are not among them. */
function append<T>(entries: readonly T[], page: readonly T[], keyOf: (entry: T) => string): T[] {
  const keys = new Set(entries.map(keyOf));
  return [...entries, ...page.filter((entry) => !keys.has(keyOf(entry)))];
}

/** Adds a page to the list in the cache. */
function appendPage(list: CachedList, page: CachedList, isTimeline: boolean): CachedList {
  const { edges, nodes } = page;
  const isMerged = isTimeline && edges?.every(({ key, positions, repostedBy }) => key && positions && repostedBy);
  const keyOf = ({ key, node }: CachedEdge) => key ?? node.__ref;
  return {
    ...list,
    ...page,
    ...(edges && {
      edges: isMerged
        ? appendToTimeline(list.edges ?? [], edges, page.pageInfo?.hasNextPage ?? true)
        : append(list.edges ?? [], edges, keyOf),
    }),
    ...(nodes && { nodes: append(list.nodes ?? [], nodes, ({ __ref }) => __ref) }),
  };
}

/** The policy of a connection: one list for all of its pages, for each combination of the other arguments. */
const listPolicy = (isTimeline: boolean): FieldPolicy<CachedList> => ({
  keyArgs: (args) => JSON.stringify(Object.entries(listArguments(args)).sort()),
  merge(list, page, { args }) {
    if (list && args?.["after"]) return appendPage(list, page, isTimeline);
    // Another component may select a part of the list only, such as its count.
    const isPart = args?.["first"] === 0;
    return {
      ...list,
      ...page,
      ...(isPart && list && { edges: list.edges, nodes: list.nodes, pageInfo: list.pageInfo }),
    };
  },
});

/**
 * Returns the options of `InMemoryCache`: the keys of objects, the types of interfaces, and endless lists, to which
 * `fetchMore` with `after` appends.
 *
 * @param typePolicies Further policies, which take precedence for each type's other fields.
 */
export function fanfoldCache(typePolicies: TypePolicies = {}) {
  const policies: TypePolicies = {};
  for (const [type, fields] of Object.entries(CONNECTIONS)) {
    const lists = fields.map((field) => [field, listPolicy(field === "timeline")]);
    policies[type] = { ...typePolicies[type], fields: { ...Object.fromEntries(lists), ...typePolicies[type]?.fields } };
  }
  // What moderators see exists once, and is merged.
  policies["Viewer"]!.fields = { moderation: { merge: true }, ...policies["Viewer"]!.fields };
  for (const [type, field] of Object.entries(KEY_FIELDS)) policies[type] = { keyFields: [field] };
  // Each event takes the place of the last.
  for (const type of [...POSSIBLE_TYPES.RelationEvent, ...POSSIBLE_TYPES.TimelineEvent]) {
    policies[type] = { merge: false, ...typePolicies[type] };
  }
  return {
    possibleTypes: Object.fromEntries(Object.entries(POSSIBLE_TYPES).map(([type, types]) => [type, [...types]])),
    typePolicies: { ...typePolicies, ...policies },
  };
}

type Query = DocumentNode;

/** Reads a query from the network into the cache. Fails if there is no data. */
async function read<Data>(client: ApolloClient, query: Query, variables: object) {
  const { data, error } = await client.query<Data, any>({
    query,
    variables,
    fetchPolicy: "network-only",
    errorPolicy: "all",
  });
  if (!data) throw errorOf(error);
  return { data, error };
}

/** Follows or unfollows a user: shown at once, and rolled back if the server rejects it. */
function follow(client: ApolloClient, mutation: Query, change: RelationChange, user: FollowedUser) {
  const { relation } = user;
  if (!relation) return mutate(client, mutation, { userId: user.id }, {});
  const expected = expectRelation(change, relation, user.isPrivate);
  const step = Number(isFollowing(expected)) - Number(isFollowing(relation));
  const set =
    <Value>(value: Value) =>
    () =>
      value;
  const expect = (cache: ApolloCache) => {
    const { status, followingSince = null, requestedSince = null } = expected;
    const fields = { status: set(status), followingSince: set(followingSince), requestedSince: set(requestedSince) };
    cache.modify({ id: cache.identify({ __typename: "Relation", id: relation.id })!, fields });
    const followerCount = (count: number | null) => count && count + step;
    cache.modify({ id: cache.identify({ __typename: "User", id: user.id })!, fields: { followerCount } });
  };
  return mutate(client, mutation, { userId: user.id }, { expect });
}

/**
 * Connects Apollo Client with the hooks of `@fanfold/client/react`.
 *
 * @param client A client with {@link fanfoldLink} and a cache with {@link fanfoldCache}.
 */
export function apolloBinding(
  fanfold: Fanfold,
  client: ApolloClient,
  mutations: FollowDocuments<Query>,
): Binding<Query, Query> {
  const { cache } = client;
  const shown = createShown();
  return {
    fanfold,
    shown,
    timeline<E extends ListedEntry>({ query, events, variables = {} }: TimelineDocuments<Query, Query>) {
      const options = { query: cache.transformDocument(query), variables, optimistic: true, returnPartialData: true };
      const apply = (event: TimelineEvent<E>) =>
        cache.updateQuery<TimelineData<E>>({ query, variables }, (data) => {
          const timeline = data?.viewer?.timeline;
          if (!timeline) return null;
          const edges = applyToEntries(timeline.edges, event, timeline.pageInfo.hasNextPage);
          return edges === timeline.edges
            ? null
            : { ...data, viewer: { ...data.viewer, timeline: { ...timeline, edges } } };
        });
      return createLiveTimeline<E, CursorEvent>(fanfold, {
        fetch: async (after) => pageOf((await read<TimelineData<E>>(client, query, { ...variables, after })).data),
        read() {
          const { result, complete, missing } = cache.diff<TimelineData<E>>(options);
          if (complete) return result?.viewer?.timeline ?? null;
          if (!(result as TimelineData<E> | null)?.viewer?.timeline) return null;
          throw new FanfoldError(`The subscription must select what the query selects: ${missing?.message}`);
        },
        watch: (listener) => cache.watch({ ...options, callback: listener }),
        subscribe(after, sink) {
          const subscription = client
            .subscribe<{ timeline: CursorEvent }>({ query: events, variables: { ...variables, after } })
            .subscribe({
              next({ data, error }) {
                if (!data) return sink.error(errorOf(error));
                apply(data.timeline);
                sink.next(data.timeline);
              },
              error: (error: unknown) => sink.error(errorOf(error)),
            });
          return () => subscription.unsubscribe();
        },
      });
    },
    list({ query, variables = {}, pageOf: select }) {
      const options = { query: cache.transformDocument(query), variables, optimistic: true };
      return createList({
        async fetch(after) {
          const { data, error } = await read<any>(client, query, { ...variables, after });
          return listOf(select(data), error);
        },
        read() {
          const { result, complete } = cache.diff<any>(options);
          return (complete && select(result)) || null;
        },
        watch: (listener) => cache.watch({ ...options, callback: listener }),
      });
    },
    relations: ({ query, events }) =>
      watchShown(fanfold, shown, {
        read: (userIds) => read(client, query, { userIds }),
        subscribe(sink) {
          const context: LinkContext = { fanfold: { connected: sink.connected } };
          const subscription = client
            .subscribe<{ relationChanged: RelationEvent }>({ query: events, context })
            .subscribe({
              next: ({ data, error }) => (data ? sink.next(data.relationChanged) : sink.error(errorOf(error))),
              error: (error: unknown) => sink.error(errorOf(error)),
            });
          return () => subscription.unsubscribe();
        },
      }),
    follow: (change, user) => follow(client, mutations[change], change, user),
  };
}
