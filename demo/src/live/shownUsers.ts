// The users shown on the page, each with the number of places.

const shown = new Map<string, number>();

export const shownUsers = {
  ids: (): string[] => [...shown.keys()],
  /** Counts a user as shown until the returned function is called. */
  add: (id: string): (() => void) => {
    shown.set(id, (shown.get(id) ?? 0) + 1);
    return () => {
      const count = (shown.get(id) ?? 0) - 1;
      if (count > 0) shown.set(id, count);
      else shown.delete(id);
    };
  },
};
