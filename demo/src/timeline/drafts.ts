// What somebody has begun to write: kept as long as the tab, whatever page is shown and whoever is signed in, until it
// is published.

import { createStore } from "../ui/store";
import { randomKey } from "../ui/randomKey";

const STORED = "fanfold.demo.drafts";

interface Draft {
  content: string;
  /** The last content that was sent and its key, by which the server knows it again. */
  attempt?: { content: string; key: string };
}

/** By username. */
type Drafts = Record<string, Draft>;

const EMPTY: Draft = { content: "" };

const store = createStore<Drafts>(JSON.parse(sessionStorage.getItem(STORED) ?? "{}") as Drafts);

const of = (username: string) => store.get()[username] ?? EMPTY;

function keep(username: string, draft: Draft): void {
  store.set({ ...store.get(), [username]: draft });
  sessionStorage.setItem(STORED, JSON.stringify(store.get()));
}

export const drafts = {
  store,
  write: (username: string, content: string) => keep(username, { ...of(username), content }),
  /** The key of an attempt to publish this; the same one if it is tried again. */
  keyOf: (username: string, content: string): string => {
    const draft = of(username);
    if (draft.attempt?.content === content) return draft.attempt.key;
    const key = randomKey();
    keep(username, { ...draft, attempt: { content, key } });
    return key;
  },
  /** Forgets what was published, and nothing that was written meanwhile. */
  published: (username: string, content: string) => {
    const draft = of(username);
    keep(username, draft.content === content ? EMPTY : { content: draft.content });
  },
};
