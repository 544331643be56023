// The users that are on the page now, with how often.

const shown = new Map<string, number>();

export const shownUsers = {
  ids: (): string[] => [...shown.keys()],
  /** Counts a user as shown until what is returned is called. */
  add: (id: string): (() => void) => {
    shown.set(id, (shown.get(id) ?? 0) + 1);
    return () => {
      const count = (shown.get(id) ?? 0) - 1;
      if (count > 0) shown.set(id, count);
      else shown.delete(id);
    };
  },
};
