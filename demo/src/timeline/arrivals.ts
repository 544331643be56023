// Posts that arrive while the user reads further down wait to be revealed, so that the visible posts do not move.

import { createStore } from "../ui/store";

/** An entry of the home timeline: a post, and those whose reposts put it there. */
export interface Entry {
  node: { id: string; author: { isViewer: boolean } };
  repostedBy: readonly { id: string }[];
}

/** Returns a name by which an entry is recognised after the timeline has been refetched. */
export const nameOf = ({ node, repostedBy }: Entry) => [node.id, repostedBy[0]?.id].join(" ");

/** The names of the entries shown when posts began to wait; null while posts are shown as they arrive. */
export const shownEntries = createStore<ReadonlySet<string> | null>(null);

/** Splits a timeline into waiting and shown entries: those above the others wait, except for the viewer's own posts. */
export function splitArrivals<Shown extends Entry>(entries: readonly Shown[], known: ReadonlySet<string> | null) {
  const end = known === null ? 0 : entries.findIndex((entry) => known.has(nameOf(entry)));
  const shown = entries.filter(({ node }, index) => index >= end || node.author.isViewer);
  return { shown, waiting: entries.length - shown.length };
}
