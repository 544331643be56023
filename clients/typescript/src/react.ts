import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { Document } from "./document.js";
import { type Held, holdArrivals, splitArrivals } from "./entries.js";
import { listen } from "./environment.js";
import type { FanfoldError } from "./error.js";
import type { UserError } from "./fanfold.js";
import type { List, ListDocument, ListPage, ListState } from "./list.js";
import type { Binding, FollowedUser, ListedEntry, LiveTimeline, RelationDocuments, TimelineDocuments } from "./live.js";
import { type BookmarkedPost, countAfter, type LikedPost, type Reaction, reactionKey } from "./reaction.js";
import { isFollowing, isReversible } from "./relation.js";
import type { Connection } from "./socket.js";
import { createStore, type Store, type WritableStore } from "./store.js";

/** The scroll position of the window, in pixels, up to which the user is at the top. */
const TOP = 80;

const isWindowAtTop = (): boolean => !(globalThis.scrollY > TOP);

/** A timeline that components share, and its entries that are held. */
interface Shared {
  readonly timeline: LiveTimeline<any>;
  readonly held: WritableStore<Held | null>;
}

interface Context {
  readonly binding: Binding;
  /** By query and variables. */
  readonly timelines: Map<unknown, Map<string, Shared>>;
}

const FanfoldContext = createContext<Context | null>(null);

function useFanfoldContext(): Context {
  const context = useContext(FanfoldContext);
  if (!context) throw new Error("There is no FanfoldProvider above this component.");
  return context;
}

/** Gives the hooks below it a cache. Use another binding, with a new cache, for each session. */
export function FanfoldProvider({ binding, children }: { binding: Binding; children?: ReactNode }): ReactNode {
  const context = useMemo(() => ({ binding, timelines: new Map() }), [binding]);
  return createElement(FanfoldContext, { value: context }, children);
}

const useStore = <Value>({ subscribe, get }: Store<Value>): Value => useSyncExternalStore(subscribe, get, get);

/** Returns the timeline of these documents, which all components under the provider share. */
function useShared({ query, events, variables = {} }: TimelineDocuments<unknown, unknown>): Shared {
  const { binding, timelines } = useFanfoldContext();
  const name = JSON.stringify(variables);
  return useMemo(() => {
    const ofQuery = timelines.get(query) ?? new Map<string, Shared>();
    timelines.set(query, ofQuery);
    const shared = ofQuery.get(name) ?? {
      timeline: binding.timeline({ query, events, variables }),
      held: createStore<Held | null>(null),
    };
    ofQuery.set(name, shared);
    return shared;
  }, [binding, timelines, query, events, name]);
}

/** The options of {@link useTimeline}. `Entry` is the type of the entries that the query selects. */
export interface TimelineOptions<Entry> extends TimelineDocuments<unknown, unknown> {
  /** Returns true for entries that are shown at once while others wait, such as the viewer's own posts. */
  readonly isOwn?: (entry: Entry) => boolean;
  /**
   * Returns true while the user is at the top, where new entries appear at once. Called whenever the window or an element
   * is scrolled. By default, the scroll position of the window counts: pass this if the timeline is in an element that
   * scrolls, such as `() => (list.current?.scrollTop ?? 0) < 80`.
   */
  readonly isAtTop?: () => boolean;
}

/** What {@link useTimeline} returns. */
export interface Timeline<Entry> {
  /** The entries to show, newest first. */
  readonly entries: readonly Entry[];
  /** The number of new entries that wait above them while the user reads further down. */
  readonly waiting: number;
  /** Shows the entries that wait. */
  reveal(): void;
  /** True if there are further pages. */
  readonly hasMore: boolean;
  /** As {@link LiveTimeline.loadMore}. */
  readonly loadMore: LiveTimeline<Entry>["loadMore"];
  /** Reads the timeline again, as far as it was read before: no event reports that a post was edited. */
  readonly refresh: LiveTimeline<Entry>["refresh"];
  readonly isLoading: boolean;
  readonly error: FanfoldError | undefined;
}

/**
 * A home timeline, kept up to date by events: new entries are inserted at the top while the user is there, and wait
 * otherwise. Components with the same documents share one timeline, which lives while any of them is mounted.
 */
export function useTimeline<Entry extends ListedEntry>(options: TimelineOptions<Entry>): Timeline<Entry> {
  const { timeline, held } = useShared(options);
  const state = useStore(timeline as LiveTimeline<Entry>);
  const split = splitArrivals(state.entries, useStore(held), options.isOwn);
  const first = split.shown[0]?.key;
  const isAtTop = useRef(isWindowAtTop);
  useEffect(() => {
    isAtTop.current = options.isAtTop ?? isWindowAtTop;
  });

  useEffect(() => {
    const hold = () => {
      const { entries } = timeline.get();
      if (held.get() === null && entries.length > 0) held.set(holdArrivals(entries));
    };
    const update = () => (isAtTop.current() ? held.set(null) : hold());
    update();
    const stop = listen("scroll", update);
    // While another page is shown, all new entries wait.
    return () => {
      stop();
      hold();
    };
  }, [timeline, held, first === undefined]);

  return {
    ...state,
    entries: split.shown,
    waiting: split.waiting,
    reveal: useCallback(() => held.set(null), [held]),
    loadMore: timeline.loadMore,
    refresh: timeline.refresh,
  };
}

/** The number of entries that wait in a timeline, for a component that shows no more of it, on any page. */
export function useWaiting<Entry extends ListedEntry>(options: TimelineOptions<Entry>): number {
  const { timeline, held } = useShared(options);
  const { entries } = useStore(timeline as LiveTimeline<Entry>);
  return splitArrivals(entries, useStore(held), options.isOwn).waiting;
}

/** The options of {@link useList}. */
export interface ListOptions<Data, Page> extends ListDocument<Document<Data, never> | object | string, Data, Page> {}

/** What {@link useList} returns. */
export type ListReading<Page> = ListState<Page> & Pick<List<Page>, "loadMore" | "refresh" | "retry">;

/**
 * An endless list, such as the followers of a user: read when the component is mounted, and page by page from then on.
 * What the cache has of it is shown meanwhile. Not for Relay, which has `usePaginationFragment`.
 */
export function useList<Data, Page extends ListPage>({
  query,
  variables = {},
  pageOf,
}: ListOptions<Data, Page>): ListReading<Page> {
  const { binding } = useFanfoldContext();
  const name = JSON.stringify(variables);
  const list = useMemo(() => {
    if (!binding.list) throw new Error("The binding has no lists: use those of its library.");
    return binding.list<Data, Page>({ query, variables, pageOf });
  }, [binding, query, name]);
  const { loadMore, refresh, retry } = list;
  return { ...useStore(list), loadMore, refresh, retry };
}

/** Keeps the relations of the users shown by {@link useFollow} and {@link useShown} up to date. Use it once. */
export function useRelations({ query, events }: RelationDocuments<unknown, unknown>): void {
  const { binding } = useFanfoldContext();
  useEffect(() => binding.relations({ query, events }), [binding, query, events]);
}

/** Reads the relation to a user again after events were missed, while the component is mounted. */
export function useShown(userId: string): void {
  const { shown } = useFanfoldContext().binding;
  useEffect(() => shown.add(userId), [shown, userId]);
}

/** What a button that follows does. */
export type FollowAction = "follow" | "followBack" | "unfollow" | "withdraw";

/** What {@link useFollow} returns. */
export interface FollowButton {
  readonly action: FollowAction;
  /** The text of the button, in English; use `action` for other languages. */
  readonly label: string;
  /** Changes the relation, which is shown at once in the whole page. */
  toggle(): Promise<void>;
  readonly isUnderWay: boolean;
  /** Why the last change was rejected, as a sentence; undefined once the relation has changed. */
  readonly error: string | undefined;
  readonly userErrors: readonly UserError[];
}

const LABELS: Record<FollowAction, string> = {
  follow: "Follow",
  followBack: "Follow back",
  unfollow: "Unfollow",
  withdraw: "Requested",
};

function actionOf({ relation }: FollowedUser): FollowAction {
  if (!relation) return "follow";
  if (isFollowing(relation)) return "unfollow";
  if (isReversible(relation)) return "withdraw";
  return relation.status === "FOLLOWER" ? "followBack" : "follow";
}

/** Why a change was rejected. */
interface Failure {
  readonly message: string;
  readonly userErrors: readonly UserError[];
}

/** Returns why a change was rejected; undefined if it was accepted. */
async function failureOf(change: Promise<readonly UserError[]>): Promise<Failure | undefined> {
  try {
    const userErrors = await change;
    const message = userErrors.map(({ message }) => message).join(" ");
    return userErrors.length > 0 ? { message, userErrors } : undefined;
  } catch (error) {
    return { message: (error as FanfoldError).message, userErrors: [] };
  }
}

/**
 * Keeps the failure of a change. It is about the state before the change, which the cache may restore after the failure: it
 * ends when that changes.
 */
function useFailure<State>(state: State) {
  const [failure, setFailure] = useState<Failure & { of: State }>();
  const current = failure?.of === state ? failure : undefined;
  useEffect(() => current && (() => setFailure(undefined)), [current]);
  const set = (of: State, reason: Failure | undefined) => setFailure(reason && { of, ...reason });
  return [{ error: current?.message, userErrors: current?.userErrors ?? [] }, set] as const;
}

/**
 * A button that follows a user, or reverses that.
 *
 * @param user Select `id isPrivate relation { id status followingSince requestedSince }`.
 */
export function useFollow(user: FollowedUser): FollowButton {
  const { binding } = useFanfoldContext();
  const [isUnderWay, setUnderWay] = useState(false);
  const isBusy = useRef(false);
  useShown(user.id);
  const action = actionOf(user);
  const [failure, setFailure] = useFailure(action);

  const toggle = async () => {
    if (isBusy.current) return;
    isBusy.current = true;
    setUnderWay(true);
    setFailure(action, undefined);
    const change = action === "unfollow" || action === "withdraw" ? "unfollow" : "follow";
    setFailure(action, await failureOf(binding.follow(change, user)));
    isBusy.current = false;
    setUnderWay(false);
  };
  return { action, label: LABELS[action], toggle, isUnderWay, ...failure };
}

/** What {@link useBookmark} returns. */
export interface ReactionButton {
  /** True if the post has the viewer's reaction: the `aria-pressed` of the button. */
  readonly isSet: boolean;
  /**
   * Adds the reaction or takes it back, which is shown at once in the whole page. It can be called again at any time: the
   * server receives what is wanted last. Returns the error, also to a component that is gone with the post.
   */
  toggle(): Promise<string | undefined>;
  /** Why the last change was rejected, as a sentence; undefined once the reaction has changed. */
  readonly error: string | undefined;
  readonly userErrors: readonly UserError[];
}

/** What {@link useLike} returns. */
export interface LikeButton extends ReactionButton {
  /** The number of likes to show. */
  readonly count: number;
}

/** A button that adds a reaction to a post, or takes it back. `has` is what the cache has of it. */
function useReaction(reaction: Reaction, postId: string, has: boolean | null | undefined): ReactionButton {
  const { reactions } = useFanfoldContext().binding;
  if (!reactions) throw new Error("The binding has no `reactions`: add those of its library.");
  const name = reactionKey(reaction, postId);
  const now = () => reactions.wanted.get().get(name) ?? has === true;
  const isSet = useSyncExternalStore(reactions.wanted.subscribe, now, now);
  const [failure, setFailure] = useFailure(isSet);
  const last = useRef(isSet);
  const toggle = async () => {
    last.current = !now();
    setFailure(isSet, undefined);
    const reason = await failureOf(reactions.set(reaction, postId, last.current));
    // Clicks meanwhile have joined this one.
    if (reason) setFailure(!last.current, reason);
    return reason?.message;
  };
  return { isSet, toggle, ...failure };
}

/**
 * A button that likes a post, or takes the like back.
 *
 * @param post Select `id likeCount viewerHasLiked`.
 */
export function useLike(post: LikedPost): LikeButton {
  const { id, likeCount, viewerHasLiked } = post;
  const button = useReaction("like", id, viewerHasLiked);
  return { ...button, count: countAfter(likeCount, viewerHasLiked, button.isSet) };
}

/**
 * A button that bookmarks a post, or removes the bookmark.
 *
 * @param post Select `id viewerHasBookmarked`.
 */
export const useBookmark = ({ id, viewerHasBookmarked }: BookmarkedPost): ReactionButton =>
  useReaction("bookmark", id, viewerHasBookmarked);

/** The state of the connection over which events arrive. */
export const useConnection = (): Connection => useStore(useFanfoldContext().binding.fanfold.state);

/** The session of the client, to sign in and out. */
export function useSession() {
  const { fanfold } = useFanfoldContext().binding;
  return { isSignedIn: useStore(fanfold.signedIn), signIn: fanfold.signIn, signOut: fanfold.signOut };
}

export type { List, ListDocument, ListPage, ListState, ReadState } from "./list.js";
export type {
  Binding,
  FollowDocuments,
  FollowedUser,
  ListedEntry,
  LiveTimeline,
  RelationDocuments,
  TimelineData,
  TimelineDocuments,
  TimelinePage,
  TimelineState,
} from "./live.js";
export type { BookmarkedPost, LikedPost, Reactions } from "./reaction.js";
