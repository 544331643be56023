// Notices to the user, such as that a change was rejected. A notice stays until it is dismissed.

import { explain } from "../api/failures";
import { type FragmentType, readFragment } from "../generated";
import { createStore } from "../ui/store";
import { UserErrorParts } from "../ui/userErrors";

export interface Notice {
  number: number;
  text: string;
}

/** Maximum number of notices shown; the oldest are dropped first. */
const MAX_SHOWN = 3;

const store = createStore<Notice[]>([]);
let count = 0;

export const notices = {
  store,
  show: (text: string) => {
    count += 1;
    store.set([...store.get(), { number: count, text }].slice(-MAX_SHOWN));
  },
  dismiss: (number: number) => store.set(store.get().filter((notice) => notice.number !== number)),
};

/** Shows why a change has failed, after what has failed. Returns true if it has. */
export function noticeFailure(
  what: string,
  error: Error | undefined,
  userErrors: readonly FragmentType<typeof UserErrorParts>[] = [],
): boolean {
  const errors = readFragment(UserErrorParts, userErrors);
  const hasFailed = error !== undefined || errors.length > 0;
  if (hasFailed) notices.show(`${what} ${error ? explain(error) : errors.map(({ message }) => message).join(" ")}`);
  return hasFailed;
}
