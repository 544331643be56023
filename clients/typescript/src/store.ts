/** A value that changes, and that React's `useSyncExternalStore` can read. */
export interface Store<Value> {
  /** Returns the current value. */
  get(): Value;
  /** Calls the listener, once however often it is added, after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

/** A store whose owner can change the value. */
export interface WritableStore<Value> extends Store<Value> {
  set(value: Value): void;
}

/** Creates a store with an initial value. Setting the same value again does not call the listeners. */
export function createStore<Value>(value: Value): WritableStore<Value> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
