// Drafts of posts, by user: stored as long as the tab, across pages and sessions, until they are published.

import { createStore } from "../ui/store";
import { randomKey } from "../ui/randomKey";

const STORED = "fanfold.demo.drafts";

interface Draft {
  content: string;
  /** The last content sent and its idempotency key, by which the server recognises a retry. */
  attempt?: { content: string; key: string };
}

/** By username. */
type Drafts = Record<string, Draft>;

const EMPTY: Draft = { content: "" };

const store = createStore<Drafts>(JSON.parse(sessionStorage.getItem(STORED) ?? "{}") as Drafts);

const of = (username: string) => store.get()[username] ?? EMPTY;

function save(username: string, draft: Draft): void {
  store.set({ ...store.get(), [username]: draft });
  sessionStorage.setItem(STORED, JSON.stringify(store.get()));
}

export const drafts = {
  store,
  write: (username: string, content: string) => save(username, { ...of(username), content }),
  /** Returns the idempotency key for publishing this content; the same for a retry. */
  keyOf: (username: string, content: string): string => {
    const draft = of(username);
    if (draft.attempt?.content === content) return draft.attempt.key;
    const key = randomKey();
    save(username, { ...draft, attempt: { content, key } });
    return key;
  },
  /** Discards a published draft, but not a text written meanwhile. */
  published: (username: string, content: string) => {
    const draft = of(username);
    save(username, draft.content === content ? EMPTY : { content: draft.content });
  },
};
