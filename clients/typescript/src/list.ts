import { errorOf, type FanfoldError, rejection } from "./error.js";
import { createStore, type Store } from "./store.js";

/** A page of an endless list. Select these fields. */
export interface ListPage {
  readonly edges?: readonly unknown[] | null | undefined;
  readonly nodes?: readonly unknown[] | null | undefined;
  readonly pageInfo: { readonly endCursor?: string | null | undefined; readonly hasNextPage: boolean };
}

/** What is known of the reads of a list. */
export interface ReadState {
  readonly isLoading: boolean;
  /** Why the last read failed; undefined if it succeeded. */
  readonly error: FanfoldError | undefined;
}

/** How a binding keeps a list in its cache. */
export interface ListCache<Page> {
  /**
   * Reads a page from the network into the cache: the first as the list, further ones at its end. Returns the page, or
   * the list up to its end.
   */
  fetch(after: string | null): Promise<Page>;
  /** Returns the list in the cache; null if it is not there. Fails if something that was selected is missing. */
  read(): Page | null;
  /** Calls the listener after each change of the list, until the returned function is called. */
  watch(listener: () => void): () => void;
}

/** Returns the list in the data of a query. Fails with the error of the response if it is not there. */
export function listOf<Page>(page: Page | null | undefined, error: unknown): Page {
  if (page) return page;
  throw error ? errorOf(error) : rejection([{ message: "There is no such list.", extensions: { code: "NOT_FOUND" } }]);
}

const lengthOf = ({ edges, nodes }: ListPage): number => (edges ?? nodes ?? []).length;

/**
 * Reads a list into a cache, page by page.
 *
 * @param shownOf Returns the part of the state that is shown of the list in the cache; null if it is not there.
 * @param begin Called with the first listener. Returns what is called when the last has gone.
 */
export function createReader<Page extends ListPage, Shown extends object>(
  cache: ListCache<Page>,
  shownOf: (page: Page | null) => Shown,
  begin: () => () => void,
) {
  const state = createStore<Shown & ReadState>({ ...shownOf(null), isLoading: true, error: undefined });
  let shown: Page | null = null;
  /** True while the list in the cache is replaced: what was shown stays until all of it is there. */
  let isReplacing = false;
  /** The number of reads that run or wait. */
  let reads = 0;
  /** Returns the list in the cache, or why it cannot be shown. */
  const inCache = (): { page?: Page | null; error?: FanfoldError } => {
    try {
      return { page: cache.read() };
    } catch (cause) {
      return { error: errorOf(cause) };
    }
  };
  /** Shows the list in the cache, and what has changed of its reads. */
  const show = (changes: Partial<ReadState> = {}) => {
    const { page, error } = inCache();
    const isShown = page && !(isReplacing && shown && lengthOf(page) < lengthOf(shown));
    if (isShown) shown = page;
    state.set({ ...state.get(), ...changes, ...(isShown && shownOf(page)), ...(!isReplacing && error && { error }) });
  };

  let reading: Promise<unknown> = Promise.resolve();
  /** Reads after all reads before. */
  const inTurn = <Value>(read: () => Promise<Value>): Promise<Value> => {
    reads += 1;
    state.set({ ...state.get(), isLoading: true });
    const result = reading.then(read);
    const end = (error?: FanfoldError) => {
      reads -= 1;
      show({ isLoading: reads > 0, error });
    };
    reading = result.then(
      () => end(),
      (cause: unknown) => end(errorOf(cause)),
    );
    return result;
  };

  /** Reads pages until one satisfies a condition, or the list ends. Returns the first. */
  const fetchUntil = async (after: string | null, isEnough: (page: Page) => boolean) => {
    const first = await cache.fetch(after);
    for (let page = first; page.pageInfo.hasNextPage && !isEnough(page);) {
      page = await cache.fetch(page.pageInfo.endCursor ?? null);
    }
    return first;
  };

  let stopWatching = () => {};
  let end = () => {};
  let listeners = 0;
  return {
    get: state.get,
    subscribe(listener: () => void) {
      const stop = state.subscribe(listener);
      listeners += 1;
      if (listeners === 1) {
        stopWatching = cache.watch(() => show());
        end = begin();
      }
      return () => {
        stop();
        listeners -= 1;
        if (listeners > 0) return;
        stopWatching();
        end();
      };
    },
    show,
    /** Reads the list again, as far as it is shown. Returns the first page. */
    replace: () =>
      inTurn(async () => {
        const length = shown ? lengthOf(shown) : 0;
        let isPart = false;
        isReplacing = true;
        try {
          const first = await fetchUntil(null, (page) => {
            isPart = true;
            return lengthOf(inCache().page ?? page) >= length;
          });
          isPart = false;
          return first;
        } finally {
          // What was read in part would show less than before.
          isReplacing = isPart;
        }
      }),
    /**
     * Reads pages at the end of the list, unless there are none, or others are read.
     *
     * @param after Returns the cursor at the end of the list.
     * @param isEnough Returns the condition which the last page satisfies.
     * @param refresh Reads the list again. The end of a list that was replaced in part is not that of what is shown.
     */
    async append(
      after: (list: Page) => string | null | undefined,
      isEnough: (list: Page) => (page: Page) => boolean,
      refresh: () => void,
    ): Promise<void> {
      if (state.get().isLoading || !shown?.pageInfo.hasNextPage) return;
      if (isReplacing) return refresh();
      state.set({ ...state.get(), error: undefined });
      await inTurn(() => fetchUntil(after(shown!) ?? null, isEnough(shown!))).catch(() => {});
    },
  };
}

/** An endless list in a cache. `Page` is the type of the connection that the query selects. */
export interface ListState<Page> extends ReadState {
  /** The list with all pages read so far; undefined before the first. */
  readonly page: Page | undefined;
  /** True if there are further pages; undefined before the first. */
  readonly hasMore: boolean | undefined;
}

/** An endless list in a cache, read again when it gets its first listener, as far as it was read before. */
export interface List<Page> extends Store<ListState<Page>> {
  /**
   * Reads the next page, unless there is none, or the list is read already. Never rejects: a failure is the `error` of the
   * state until the next call. Stays the same function.
   */
  readonly loadMore: () => Promise<void>;
  /** Reads the list again, as far as it was read before. */
  refresh(): void;
  /** Repeats the last read, which has failed. */
  retry(): void;
}

/** The document of an endless list. */
export interface ListDocument<Query, Data, Page> {
  /** A query for the list, with the variable `$after: String`, by which further pages are read. */
  readonly query: Query;
  /** The other variables. */
  readonly variables?: object | undefined;
  /** Returns the list in the data of the query. */
  pageOf(data: Data): Page | null | undefined;
}

/** Reads an endless list in a cache while it has listeners. */
export function createList<Page extends ListPage>(cache: ListCache<Page>): List<Page> {
  const refresh = () => {
    retry = refresh;
    reader.replace().catch(() => {});
  };
  /** Called when the next page is read. */
  const after = ({ pageInfo }: Page) => {
    retry = loadMore;
    return pageInfo.endCursor;
  };
  const isEnough = () => () => true;
  const loadMore = () => reader.append(after, isEnough, refresh);
  let retry: () => unknown = refresh;
  const reader = createReader(
    cache,
    (page) => ({ page: page ?? undefined, hasMore: page?.pageInfo.hasNextPage }),
    () => {
      refresh();
      return () => {};
    },
  );
  // What was read before is shown at once.
  reader.show();
  return { get: reader.get, subscribe: reader.subscribe, loadMore, refresh, retry: () => void retry() };
}
