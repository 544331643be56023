// The session of `apollo` and `urql`.

import type { Fanfold } from "@fanfold/client";

/** Signs in, or fails with the reasons. */
export async function signIn(fanfold: Fanfold, username: string, password: string, label: string): Promise<void> {
  const errors = await fanfold.signIn(username, password, label);
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join(" "));
}
