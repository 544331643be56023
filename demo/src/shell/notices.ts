// Notices to the user, such as that a change was rejected. A notice stays until it is dismissed.

import { createStore } from "../ui/store";

export interface Notice {
  number: number;
  text: string;
}

/** Maximum number of notices shown; the oldest are dropped first. */
const MAX_SHOWN = 3;

const store = createStore<Notice[]>([]);
let count = 0;

export const notices = {
  store,
  show: (text: string) => {
    count += 1;
    store.set([...store.get(), { number: count, text }].slice(-MAX_SHOWN));
  },
  dismiss: (number: number) => store.set(store.get().filter((notice) => notice.number !== number)),
};
