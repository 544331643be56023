// Drafts of posts: stored as long as the tab, across pages and sessions, until they are published.

import type { PublishInput } from "../generated/graphql";
import { createStore } from "../ui/store";
import { randomKey } from "../ui/randomKey";

const STORED = "fanfold.demo.drafts";

/** What a post refers to, and the visibility that follows from it. */
export type Reference = Pick<PublishInput, "inReplyTo" | "quoteOf" | "visibility">;

interface Draft {
  content: string;
  /** The last content sent and its idempotency key, by which the server recognises a retry. */
  attempt?: { content: string; key: string };
}

/** By name. */
type Drafts = Record<string, Draft>;

const EMPTY: Draft = { content: "" };

const store = createStore<Drafts>(JSON.parse(sessionStorage.getItem(STORED) ?? "{}") as Drafts);

const of = (name: string) => store.get()[name] ?? EMPTY;

function save(name: string, draft: Draft): void {
  store.set({ ...store.get(), [name]: draft });
  sessionStorage.setItem(STORED, JSON.stringify(store.get()));
}

export const drafts = {
  store,
  /** Returns the name of a user's draft: each has one for every post to reply to or to quote, and one for other posts. */
  nameOf: (username: string, { inReplyTo, quoteOf }: Reference): string =>
    [username, inReplyTo && `reply ${inReplyTo}`, quoteOf && `quote ${quoteOf}`].filter(Boolean).join(" "),
  write: (name: string, content: string) => save(name, { ...of(name), content }),
  /** Returns the idempotency key for publishing this content; the same for a retry. */
  keyOf: (name: string, content: string): string => {
    const draft = of(name);
    if (draft.attempt?.content === content) return draft.attempt.key;
    const key = randomKey();
    save(name, { ...draft, attempt: { content, key } });
    return key;
  },
  /** Discards a published draft, but not a text written meanwhile. */
  published: (name: string, content: string) => {
    const draft = of(name);
    save(name, draft.content === content ? EMPTY : { content: draft.content });
  },
};
