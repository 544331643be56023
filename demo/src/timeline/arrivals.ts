// Which posts wait to be looked at: those that came while one was reading further down. What one reads does not move.

import { createStore } from "../ui/store";

/** When the newest post that was on the page was written; null while all are shown as they come. */
export const newestShown = createStore<string | null>(null);

interface Dated {
  createdAt: string;
  author: { isViewer: boolean };
}

/** Splits a timeline into what waits and what is shown. One's own posts never wait. */
export function splitArrivals<Post extends Dated>(posts: readonly Post[], newest: string | null) {
  const isWaiting = ({ createdAt, author }: Post) => newest !== null && createdAt > newest && !author.isViewer;
  const shown = posts.filter((post) => !isWaiting(post));
  return { shown, waiting: posts.length - shown.length };
}
