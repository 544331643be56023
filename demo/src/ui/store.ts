// A value outside of React that components can subscribe to.

import type { Store } from "@fanfold/client";
import { useSyncExternalStore } from "react";

export { createStore } from "@fanfold/client";

export const useStore = <Value>(store: Store<Value>): Value => useSyncExternalStore(store.subscribe, store.get);
