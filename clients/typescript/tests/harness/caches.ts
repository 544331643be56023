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
import { apolloReactions } from "../../src/apolloReactions.js";
import type { BookmarkedPost, LikedPost, Reactions } from "../../src/reaction.js";
import { relayReactions } from "../../src/relayReactions.js";
import { fanfoldCache as urqlCache, fanfoldExchange, urqlBinding } from "../../src/urql.js";
import { reactionCache, urqlReactions } from "../../src/urqlReactions.js";
import {
  EVENTS,
  FOLLOW,
  FOLLOWERS,
  HOME,
  POST_BY_ID,
  PROFILE,
  REACTED,
  REACTIONS,
  RELATION_EVENTS,
  RELATIONS,
  UNFOLLOW,
} from "../documents.js";
import EventsForRelay from "../relay/generated/documentsEventsSubscription.graphql.js";
import BookmarkForRelay from "../relay/generated/documentsBookmarkMutation.graphql.js";
import FollowForRelay from "../relay/generated/documentsFollowMutation.graphql.js";
import HomeForRelay from "../relay/generated/documentsHomeQuery.graphql.js";
import LikeForRelay from "../relay/generated/documentsLikeMutation.graphql.js";
import PostForRelay from "../relay/generated/documentsPostQuery.graphql.js";
import ProfileForRelay from "../relay/generated/documentsProfileQuery.graphql.js";
import ReactedForRelay from "../relay/generated/documentsReactedQuery.graphql.js";
import RelationEventsForRelay from "../relay/generated/documentsRelationsSubscription.graphql.js";
import RelationsForRelay from "../relay/generated/documentsRelationsQuery.graphql.js";
import RemoveBookmarkForRelay from "../relay/generated/documentsRemoveBookmarkMutation.graphql.js";
import UnfollowForRelay from "../relay/generated/documentsUnfollowMutation.graphql.js";
import UnlikeForRelay from "../relay/generated/documentsUnlikeMutation.graphql.js";

/** An entry as the documents of the tests select it. */
export interface Shown extends Entry {
  readonly cursor: string;
  readonly repostedBy: readonly { readonly id: string; readonly username: string }[];
  readonly node: { readonly id: string; readonly content: string };
}

/** Returns the content of an entry, with those who have reposted it. */
export const textOf = ({ node, repostedBy }: Shown): string =>
  [node.content, ...repostedBy.map(({ username }) => username)].join(" ");

/** A post as the documents of the tests select it. */
export interface ShownPost extends LikedPost, BookmarkedPost {
  readonly content: string;
}

/** The contents of the viewer's lists of posts. */
export interface Reacted {
  readonly likes: readonly string[];
  readonly bookmarks: readonly string[];
}

/** Returns the lists in the data of the query for the viewer's likes and bookmarks. */
const reactedOf = ({ viewer }: any): Reacted => ({
  likes: viewer.likes.edges.map(({ node }: any) => node.content),
  bookmarks: viewer.bookmarks.nodes.map(({ content }: any) => content),
});

/** A cache with its binding. */
export interface Cached {
  binding: Binding & { readonly reactions: Reactions };
  documents: { home: unknown; events: unknown; relations: unknown; relationEvents: unknown };
  /** Reads a user from the network, and watches them in the cache. */
  profile(id: string, listener: (user: FollowedUser) => void): Promise<unknown>;
  /** Reads a post from the network, again at each call, and watches it in the cache. */
  post(id: string, listener?: (post: ShownPost) => void): Promise<unknown>;
  /** Reads the viewer's likes and bookmarks from the network, and watches them in the cache. */
  reacted(listener: (lists: Reacted) => void): Promise<unknown>;
  /** Reads the followers of a user from the first page on, and returns the ids of the list in the cache. */
  followers?(id: string, pages: number): Promise<string[]>;
}

function apollo(fanfold: Fanfold): Cached {
  const client = new ApolloClient({ cache: new InMemoryCache(apolloCache()), link: fanfoldLink(fanfold) });
  const mutations = Object.fromEntries(Object.entries(REACTIONS).map(([change, text]) => [change, gql(text)]));
  const watch = (query: string, variables: object, onData: (data: any) => void) =>
    new Promise((resolve) =>
      client
        .watchQuery<any, any>({ query: gql(query), variables, fetchPolicy: "cache-and-network" })
        .subscribe(({ data, dataState, networkStatus }) => {
          if (dataState === "complete") onData(data);
          if (networkStatus === 7) resolve(data);
        }),
    );
  return {
    binding: {
      ...apolloBinding(fanfold, client, { follow: gql(FOLLOW), unfollow: gql(UNFOLLOW) }),
      reactions: apolloReactions(client, mutations),
    },
    post: (id, listener = () => {}) => watch(POST_BY_ID, { id }, ({ post }) => listener(post)),
    reacted: (listener) => watch(REACTED, {}, (data) => listener(reactedOf(data))),
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
    exchanges: [cacheExchange(urqlCache(reactionCache())), fanfoldExchange(fanfold)],
  });
  const watch = (query: string, variables: object, onData: (data: any) => void) =>
    new Promise((resolve) =>
      client.query<any>(query, variables, { requestPolicy: "cache-and-network" }).subscribe(({ data, stale }) => {
        if (data) onData(data);
        if (!stale) resolve(data);
      }),
    );
  return {
    binding: {
      ...urqlBinding(fanfold, client, { follow: FOLLOW as never, unfollow: UNFOLLOW as never }),
      reactions: urqlReactions(client, REACTIONS),
    },
    post: (id, listener = () => {}) => watch(POST_BY_ID, { id }, ({ post }) => listener(post)),
    reacted: (listener) => watch(REACTED, {}, (data) => listener(reactedOf(data))),
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
  const mutations = {
    like: LikeForRelay,
    unlike: UnlikeForRelay,
    bookmark: BookmarkForRelay,
    removeBookmark: RemoveBookmarkForRelay,
  };
  const watch = async (query: Relay.ConcreteRequest, variables: object, onData: (data: any) => void) => {
    const operation = Relay.createOperationDescriptor(query, variables);
    environment.retain(operation);
    await Relay.fetchQuery(environment, query, variables).toPromise();
    const snapshot = environment.lookup(operation.fragment);
    onData(snapshot.data);
    environment.subscribe(snapshot, ({ data }) => onData(data));
  };
  return {
    binding: {
      ...relayBinding(fanfold, environment, { follow: FollowForRelay, unfollow: UnfollowForRelay }),
      reactions: relayReactions(environment, mutations),
    },
    post: (id, listener = () => {}) => watch(PostForRelay, { id }, ({ post }) => listener(post)),
    reacted: (listener) => watch(ReactedForRelay, {}, (data) => listener(reactedOf(data))),
    documents: {
      home: HomeForRelay,
      events: EventsForRelay,
      relations: RelationsForRelay,
      relationEvents: RelationEventsForRelay,
    },
    profile: (id, listener) => watch(ProfileForRelay, { id }, ({ node }) => listener(node)),
  };
}

/** Opens each cache over a client. */
export const CACHES = { apollo, urql, relay };

/** Returns the timeline of the tests in a cache. */
export const timelineOf = ({ binding, documents }: Cached): LiveTimeline<Shown> =>
  binding.timeline<Shown>({ query: documents.home, events: documents.events });
