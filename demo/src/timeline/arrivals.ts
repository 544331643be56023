// Posts that arrive while the user reads further down wait to be revealed, so that the visible posts do not move.

import { createStore } from "../ui/store";

/** The time of the newest shown post; null while posts are shown as they arrive. */
export const newestShown = createStore<string | null>(null);

interface Dated {
  createdAt: string;
  author: { isViewer: boolean };
}

/** Splits a timeline into waiting and shown posts. The viewer's own posts never wait. */
export function splitArrivals<Post extends Dated>(posts: readonly Post[], newest: string | null) {
  const isWaiting = ({ createdAt, author }: Post) => newest !== null && createdAt > newest && !author.isViewer;
  const shown = posts.filter((post) => !isWaiting(post));
  return { shown, waiting: posts.length - shown.length };
}
