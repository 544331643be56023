// Drafts of posts: stored as long as the tab, across pages and sessions, until they are accepted.

import { createStore } from "../ui/store";
import { randomKey } from "../ui/randomKey";

const STORED = "fanfold.demo.drafts";

interface Draft {
  content: string;
  /** The last content sent and its idempotency key, by which the server recognises a retry. */
  attempt?: { content: string; key: string };
}

/** By name. */
type Drafts = Record<string, Draft>;

const store = createStore<Drafts>(JSON.parse(sessionStorage.getItem(STORED) ?? "{}") as Drafts);

function save(drafts: Drafts): void {
  store.set(drafts);
  sessionStorage.setItem(STORED, JSON.stringify(drafts));
}

export const drafts = {
  store,
  /** Returns the name of a user's draft for a subject, such as a post to reply to. */
  nameOf: (username: string, subject: string): string => `${username} ${subject}`,
  write: (name: string, content: string) => save({ ...store.get(), [name]: { ...store.get()[name], content } }),
  /** Returns the idempotency key for sending this content; the same for a retry. */
  keyOf: (name: string, content: string): string => {
    const { attempt } = store.get()[name] ?? {};
    if (attempt?.content === content) return attempt.key;
    const key = randomKey();
    save({ ...store.get(), [name]: { content, attempt: { content, key } } });
    return key;
  },
  discard: (name: string) => {
    const { [name]: _discarded, ...others } = store.get();
    save(others);
  },
  /** Discards an accepted draft, but not a text written meanwhile. */
  accepted: (name: string, content: string) => {
    const { [name]: draft, ...others } = store.get();
    save(draft === undefined || draft.content === content ? others : { ...others, [name]: { content: draft.content } });
  },
};
