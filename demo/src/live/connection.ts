// The last known state of the connection to the server.

import { createStore } from "../ui/store";

/** `back` is a connection that was lost and restored, while the banner reports it. */
export type Connection = "unknown" | "here" | "lost" | "back";

const store = createStore<Connection>("unknown");
const found = () => store.set(store.get() === "lost" ? "back" : "here");

export const connection = {
  store,
  /** Takes over the state of the connection over which events arrive. */
  follow: (state: string) => {
    if (state === "live") found();
    else if (state === "lost") store.set("lost");
  },
  found,
  reset: () => store.set("unknown"),
};
