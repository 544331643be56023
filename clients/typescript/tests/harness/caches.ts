// The caches with their bindings, and what a page does with them.

import "./warnings.js";

import { ApolloClient, gql, InMemoryCache } from "@apollo/client";
import { Client, type RequestPolicy } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import * as Relay from "relay-runtime";

import { apolloBinding, fanfoldCache as apolloCache, fanfoldLink } from "../../src/apollo.js";
import type { Entry, Fanfold } from "../../src/index.js";
import type { Binding, FollowedUser, LiveTimeline } from "../../src/live.js";
import { fanfoldNetwork, relayBinding } from "../../src/relay.js";
import { fanfoldCache as urqlCache, fanfoldExchange, urqlBinding } from "../../src/urql.js";
import { EVENTS, FOLLOW, FOLLOWERS, HOME, PROFILE, RELATION_EVENTS, RELATIONS, UNFOLLOW } from "../documents.js";
import EventsForRelay from "../relay/generated/documentsEventsSubscription.graphql.js";
import FollowForRelay from "../relay/generated/documentsFollowMutation.graphql.js";
import HomeForRelay from "../relay/generated/documentsHomeQuery.graphql.js";
import ProfileForRelay from "../relay/generated/documentsProfileQuery.graphql.js";
import RelationEventsForRelay from "../relay/generated/documentsRelationsSubscription.graphql.js";
import RelationsForRelay from "../relay/generated/documentsRelationsQuery.graphql.js";
import UnfollowForRelay from "../relay/generated/documentsUnfollowMutation.graphql.js";

/** An entry as the documents of the tests select it. */
export interface Shown extends Entry {
  readonly cursor: string;
  readonly repostedBy: readonly { readonly id: string; readonly username: string }[];
  readonly node: { readonly id: string; readonly content: string };
}

/** Returns the content of an entry, with those who have reposted it. */
export const textOf = ({ node, repostedBy }: Shown): string =>
  [node.content, ...repostedBy.map(({ username }) => username)].join(" ");

/** A cache with its binding. */
export interface Cached {
  binding: Binding;
  documents: { home: unknown; events: unknown; relations: unknown; relationEvents: unknown };
  /** Reads a user from the network, and watches them in the cache. */
  profile(id: string, listener: (user: FollowedUser) => void): Promise<unknown>;
  /** Reads the followers of a user from the first page on, and returns the ids of the list in the cache. */
  followers?(id: string, pages: number): Promise<string[]>;
}

function apollo(fanfold: Fanfold): Cached {
  const client = new ApolloClient({ cache: new InMemoryCache(apolloCache()), link: fanfoldLink(fanfold) });
  const binding = apolloBinding(fanfold, client, { follow: gql(FOLLOW), unfollow: gql(UNFOLLOW) });
  return {
    binding,
    documents: {
      home: gql(HOME),
      events: gql(EVENTS),
      relations: gql(RELATIONS),
      relationEvents: gql(RELATION_EVENTS),
    },
    profile: (id, listener) =>
      new Promise((resolve) =>
        client.watchQuery<any, any>({ query: gql(PROFILE), variables: { id } }).subscribe(({ data }) => {
          if (!data?.node) return;
          listener(data.node as FollowedUser);
          resolve(data);
        }),
      ),
    async followers(id, pages) {
      const query = client.watchQuery<any, any>({ query: gql(FOLLOWERS), variables: { id } });
      query.subscribe({});
      let { data } = await query.refetch();
      for (let page = 2; page <= pages; page += 1) {
        ({ data } = await query.fetchMore({ variables: { after: data!.node.followers.pageInfo.endCursor } }));
      }
      return client.cache
        .readQuery<any>({ query: gql(FOLLOWERS), variables: { id } })
        .node.followers.edges.map((edge: any) => edge.node.id);
    },
  };
}

function urql(fanfold: Fanfold): Cached {
  const client = new Client({
    url: fanfold.url,
    preferGetMethod: false,
    exchanges: [cacheExchange(urqlCache()), fanfoldExchange(fanfold)],
  });
  const binding = urqlBinding(fanfold, client, { follow: FOLLOW as never, unfollow: UNFOLLOW as never });
  return {
    binding,
    documents: { home: HOME, events: EVENTS, relations: RELATIONS, relationEvents: RELATION_EVENTS },
    profile: (id, listener) =>
      new Promise((resolve) =>
        client.query<any>(PROFILE, { id }).subscribe(({ data }) => {
          if (data?.node) listener(data.node as FollowedUser);
          resolve(data);
        }),
      ),
    async followers(id, pages) {
      const read = async (after?: string, requestPolicy: RequestPolicy = "network-only") =>
        (await client.query<any>(FOLLOWERS, { id, after }, { requestPolicy }).toPromise()).data.node.followers;
      let last = await read();
      for (let page = 2; page <= pages; page += 1) last = await read(last.pageInfo.endCursor);
      return (await read(undefined, "cache-only")).edges.map((edge: any) => edge.node.id);
    },
  };
}

function relay(fanfold: Fanfold): Cached {
  const environment = new Relay.Environment({
    network: fanfoldNetwork(fanfold),
    store: new Relay.Store(new Relay.RecordSource()),
  });
  const binding = relayBinding(fanfold, environment, { follow: FollowForRelay, unfollow: UnfollowForRelay });
  return {
    binding,
    documents: {
      home: HomeForRelay,
      events: EventsForRelay,
      relations: RelationsForRelay,
      relationEvents: RelationEventsForRelay,
    },
    async profile(id, listener) {
      const operation = Relay.createOperationDescriptor(ProfileForRelay, { id });
      environment.retain(operation);
      await Relay.fetchQuery(environment, ProfileForRelay, { id }).toPromise();
      const snapshot = environment.lookup(operation.fragment);
      const show = ({ data }: any) => listener(data.node);
      show(snapshot);
      environment.subscribe(snapshot, show);
    },
  };
}

/** Opens each cache over a client. */
export const CACHES = { apollo, urql, relay };

/** Returns the timeline of the tests in a cache. */
export const timelineOf = ({ binding, documents }: Cached): LiveTimeline<Shown> =>
  binding.timeline<Shown>({ query: documents.home, events: documents.events });
