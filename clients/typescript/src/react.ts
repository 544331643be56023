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

/**
 * A button that follows a user, or reverses that.
 *
 * @param user Select `id isPrivate relation { id status followingSince requestedSince }`.
 */
export function useFollow(user: FollowedUser): FollowButton {
  const { binding } = useFanfoldContext();
  const [isUnderWay, setUnderWay] = useState(false);
  const [failure, setFailure] = useState<{ of: FollowAction; message: string; userErrors: readonly UserError[] }>();
  const isBusy = useRef(false);
  useShown(user.id);
  const action = actionOf(user);
  // A failure is about the relation as it was, which the cache may restore after the failure: it ends when that changes.
  const current = failure?.of === action ? failure : undefined;
  useEffect(() => current && (() => setFailure(undefined)), [current]);

  const toggle = async () => {
    if (isBusy.current) return;
    isBusy.current = true;
    setUnderWay(true);
    setFailure(undefined);
    const change = action === "unfollow" || action === "withdraw" ? "unfollow" : "follow";
    try {
      const userErrors = await binding.follow(change, user);
      const message = userErrors.map(({ message }) => message).join(" ");
      if (userErrors.length > 0) setFailure({ of: action, message, userErrors });
    } catch (error) {
      setFailure({ of: action, message: (error as FanfoldError).message, userErrors: [] });
    }
    isBusy.current = false;
    setUnderWay(false);
  };
  return {
    action,
    label: LABELS[action],
    toggle,
    isUnderWay,
    error: current?.message,
    userErrors: current?.userErrors ?? [],
  };
}

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
