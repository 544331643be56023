// The last known state of the connection to the server.

import { createStore } from "../ui/store";

/** `back` is a connection that was lost and restored, while the banner reports it. */
export type Connection = "unknown" | "here" | "lost" | "back";

const store = createStore<Connection>("unknown");

export const connection = {
  store,
  isFound: () => store.get() === "here" || store.get() === "back",
  lost: () => store.set("lost"),
  found: () => store.set(store.get() === "lost" ? "back" : "here"),
  reset: () => store.set("unknown"),
};
