/** Maximum number of ids in a request. */
const MOST_IDS = 100;

/** The users shown on a page, whose relations are read again after events were missed. */
export interface Shown {
  /** Counts a user as shown until the returned function is called. */
  add(userId: string): () => void;
  /** Returns the ids of the shown users, in lists of as many as a request takes. */
  batches(): string[][];
}

export function createShown(): Shown {
  const counts = new Map<string, number>();
  return {
    add(userId) {
      counts.set(userId, (counts.get(userId) ?? 0) + 1);
      let isShown = true;
      return () => {
        if (!isShown) return;
        isShown = false;
        const count = (counts.get(userId) ?? 0) - 1;
        if (count > 0) counts.set(userId, count);
        else counts.delete(userId);
      };
    },
    batches() {
      const ids = [...counts.keys()];
      const length = Math.ceil(ids.length / MOST_IDS);
      return Array.from({ length }, (_, index) => ids.slice(index * MOST_IDS, (index + 1) * MOST_IDS));
    },
  };
}
