// Whether the server can be reached, as far as is known.

import { createStore } from "../ui/store";

/** `back` is a connection that was lost and found, until that has been told. */
export type Connection = "unknown" | "here" | "lost" | "back";

const store = createStore<Connection>("unknown");

export const connection = {
  store,
  isFound: () => store.get() === "here" || store.get() === "back",
  lost: () => store.set("lost"),
  found: () => store.set(store.get() === "lost" ? "back" : "here"),
  forget: () => store.set("unknown"),
};
