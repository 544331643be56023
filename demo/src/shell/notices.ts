// What has to be told in passing, such as that a change was refused. It stays until it is put away.

import { createStore } from "../ui/store";

export interface Notice {
  number: number;
  text: string;
}

/** Most that are shown at a time; the oldest go first. */
const MOST = 3;

const store = createStore<Notice[]>([]);
let told = 0;

export const notices = {
  store,
  tell: (text: string) => {
    told += 1;
    store.set([...store.get(), { number: told, text }].slice(-MOST));
  },
  putAway: (number: number) => store.set(store.get().filter((notice) => notice.number !== number)),
};
