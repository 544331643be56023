import {
  commitLocalUpdate,
  createOperationDescriptor,
  type Environment,
  fetchQuery,
  getRequest,
  type GraphQLResponse,
  type GraphQLTaggedNode,
  Network,
  type NormalizationArgument,
  type NormalizationSelection,
  Observable,
  type OperationType,
  type RecordProxy,
  type RecordSourceProxy,
  requestSubscription,
} from "relay-runtime";
import { appendEntries, applyToEntries, type Entry, type TimelineEvent } from "./entries.js";
import { errorOf, FanfoldError, rejection } from "./error.js";
import type { Fanfold } from "./fanfold.js";
import {
  type Binding,
  createLiveTimeline,
  type FollowDocuments,
  type ListedEntry,
  pageOf,
  type TimelineData,
  type TimelineDocuments,
  watchShown,
} from "./live.js";
import { expectRelation, isFollowing } from "./relation.js";
import type { RelationEvent } from "./relations.js";
import { mutate } from "./relayMutation.js";
import { createShown } from "./shown.js";
import type { CursorEvent } from "./timeline.js";

/**
 * Executes all operations with the client: queries and mutations over HTTP, subscriptions over its WebSocket. Documents
 * that the compiler has replaced with their hash are sent as trusted documents.
 */
export function fanfoldNetwork(fanfold: Fanfold): ReturnType<typeof Network.create> {
  const operationOf = (
    { id, text, name }: { id?: string | null | undefined; text?: string | null; name: string },
    variables: object,
  ) => ({
    ...(text ? { query: text, operationName: name } : { documentId: id ?? undefined }),
    variables: variables as Record<string, unknown>,
  });
  return Network.create(
    async (request, variables) => {
      const result = await fanfold.execute(operationOf(request, variables));
      // The library's own error has lost the code.
      if (!result.data && result.errors) throw rejection(result.errors);
      return result as GraphQLResponse;
    },
    (request, variables, { metadata }) =>
      Observable.create((sink) =>
        fanfold.subscribe(operationOf(request, variables), {
          next: (result) => sink.next(result as GraphQLResponse),
          error: (error) => sink.error(error),
          connected: () => (metadata as { connected?: () => void } | undefined)?.connected?.(),
        }),
      ),
  );
}

/** An edge of a home timeline in the store, whose ids are those of records. */
interface StoredEntry extends Entry {
  readonly repostedBy: readonly { readonly id: string; readonly user: RecordProxy }[];
  readonly edge: RecordProxy;
}

const entryOf = (edge: RecordProxy): StoredEntry => ({
  key: edge.getValue("key") as string,
  positions: edge.getValue("positions") as unknown as string[],
  repostedBy: (edge.getLinkedRecords("repostedBy") ?? []).map((user) => ({ id: user.getDataID(), user })),
  node: { id: edge.getLinkedRecord("node")!.getDataID() },
  edge,
});

const entriesOf = (list: RecordProxy): StoredEntry[] => (list.getLinkedRecords("edges") ?? []).map(entryOf);

/** Sets the entries of a list, and what has changed of them. */
function setEntries(list: RecordProxy, entries: readonly StoredEntry[]): void {
  for (const { edge, positions, repostedBy } of entries) {
    edge.setValue([...positions], "positions");
    edge.setLinkedRecords(
      repostedBy.map(({ user }) => user),
      "repostedBy",
    );
  }
  list.setLinkedRecords(
    entries.map(({ edge }) => edge),
    "edges",
  );
}

let copies = 0;

/** Returns a copy of an edge: the store overwrites that of a page or event with the next. */
function copyOf(store: RecordSourceProxy, edge: RecordProxy): RecordProxy {
  copies += 1;
  const copy = store.create(`client:fanfold:edge:${copies}`, "PostEdge");
  copy.copyFieldsFrom(edge);
  return copy;
}

/** Returns the values of a field's arguments. */
const valuesOf = (args: readonly NormalizationArgument[] | null | undefined, variables: Record<string, unknown>) =>
  Object.fromEntries(
    (args ?? []).map((argument) => [
      argument.name,
      argument.kind === "Variable"
        ? variables[argument.variableName]
        : "value" in argument
          ? argument.value
          : undefined,
    ]),
  );

/** Returns the field of an operation with this name. */
function fieldOf(selections: readonly NormalizationSelection[], name: string) {
  for (const selection of selections) {
    if (selection.kind === "LinkedField" && selection.name === name) return selection;
  }
  throw new TypeError(`The query for the timeline has no field \`${name}\`, or it is in a fragment.`);
}

/** Reads a query from the network into the store. */
async function read<Data>(environment: Environment, query: GraphQLTaggedNode, variables: object): Promise<Data> {
  const options = { networkCacheConfig: { force: true } };
  const data = await fetchQuery<OperationType>(environment, query, variables, options).toPromise();
  return data as Data;
}

/** Subscribes to events, which the store receives. */
function subscribe<Event>(
  environment: Environment,
  subscription: GraphQLTaggedNode,
  variables: object,
  sink: { next(data: Event): void; error(error: FanfoldError): void; connected?(): void },
  updater?: (store: RecordSourceProxy & { getRootField(name: string): RecordProxy | null | undefined }) => void,
) {
  return requestSubscription<{ variables: object; response: any }>(environment, {
    subscription,
    variables,
    cacheConfig: { metadata: { connected: sink.connected } },
    updater: updater as never,
    onNext: (data) => data && sink.next(data as Event),
    onError: (error) => sink.error(errorOf(error)),
  }).dispose;
}

/** Applies an event to a list in the store. */
function apply(store: RecordSourceProxy, list: RecordProxy, event: RecordProxy): void {
  const edge = event.getLinkedRecord("edge");
  const pageInfo = list.getLinkedRecord("pageInfo");
  const entries = entriesOf(list);
  const inStore: TimelineEvent<StoredEntry> = {
    __typename: event.getType(),
    edge: edge ? entryOf(copyOf(store, edge)) : undefined,
    postId: event.getValue("postId") as string | undefined,
    userId: event.getValue("userId") as string | undefined,
  };
  const after = applyToEntries(entries, inStore, pageInfo?.getValue("hasNextPage") !== false);
  if (after !== entries) setEntries(list, after);
}

/**
 * Connects Relay with the hooks of `@fanfold/client/react`. In queries for timelines, select `edges` in the query itself,
 * without `@connection`, and spread fragments in `node`.
 *
 * @param environment An environment with {@link fanfoldNetwork}.
 */
export function relayBinding(
  fanfold: Fanfold,
  environment: Environment,
  mutations: FollowDocuments<GraphQLTaggedNode>,
): Binding<GraphQLTaggedNode, GraphQLTaggedNode> {
  const shown = createShown();
  return {
    fanfold,
    shown,
    timeline<E extends ListedEntry>(documents: TimelineDocuments<GraphQLTaggedNode, GraphQLTaggedNode>) {
      const { query, events } = documents;
      const variables = { ...documents.variables, after: null };
      const request = getRequest(query);
      const operation = createOperationDescriptor(request, variables);
      const timeline = fieldOf(fieldOf(request.operation.selections, "viewer").selections, "timeline");
      const listIn = (store: RecordSourceProxy, after: string | null) =>
        store
          .getRoot()
          .getLinkedRecord("viewer")
          ?.getLinkedRecord("timeline", valuesOf(timeline.args, { ...variables, after }));
      return createLiveTimeline<E, CursorEvent>(fanfold, {
        async fetch(after) {
          const page = pageOf(await read<TimelineData<E>>(environment, query, { ...variables, after }));
          if (after === null) return page;
          commitLocalUpdate(environment, (store) => {
            const [list, added] = [listIn(store, null), listIn(store, after)];
            if (!list || !added) return;
            const copies = (added.getLinkedRecords("edges") ?? []).map((edge) => entryOf(copyOf(store, edge)));
            setEntries(list, appendEntries(entriesOf(list), copies, page.pageInfo.hasNextPage));
            list.getLinkedRecord("pageInfo")?.copyFieldsFrom(added.getLinkedRecord("pageInfo")!);
          });
          return page;
        },
        read() {
          const { data, isMissingData } = environment.lookup(operation.fragment);
          const page = (data as TimelineData<E> | null)?.viewer?.timeline ?? null;
          if (page && isMissingData) throw new FanfoldError("The subscription must select what the query selects.");
          return page;
        },
        watch(listener) {
          const retained = environment.retain(operation);
          const watched = environment.subscribe(environment.lookup(operation.fragment), listener);
          return () => {
            watched.dispose();
            retained.dispose();
          };
        },
        subscribe: (after, { next, error }) =>
          subscribe<{ timeline: CursorEvent }>(
            environment,
            events,
            { ...variables, after },
            { next: ({ timeline }) => next(timeline), error },
            (store) => {
              const [list, event] = [listIn(store, null), store.getRootField("timeline")];
              if (list && event) apply(store, list, event);
            },
          ),
      });
    },
    relations: ({ query, events }) =>
      watchShown(fanfold, shown, {
        read: (userIds) => read(environment, query, { userIds }),
        subscribe: ({ next, error, connected }) =>
          subscribe<{ relationChanged: RelationEvent }>(
            environment,
            events,
            {},
            {
              next: ({ relationChanged }) => next(relationChanged),
              error,
              connected,
            },
          ),
      }),
    follow(change, user) {
      const expected = user.relation && expectRelation(change, user.relation, user.isPrivate);
      return mutate(environment, mutations[change], { userId: user.id }, (store) => {
        const [relation, followed] = [user.relation && store.get(user.relation.id), store.get(user.id)];
        if (!expected || !relation) return;
        const step = Number(isFollowing(expected)) - Number(isFollowing(user.relation!));
        relation.setValue(expected.status, "status");
        relation.setValue(expected.followingSince ?? null, "followingSince");
        relation.setValue(expected.requestedSince ?? null, "requestedSince");
        const count = followed?.getValue("followerCount");
        if (typeof count === "number") followed!.setValue(count + step, "followerCount");
      });
    },
  };
}
