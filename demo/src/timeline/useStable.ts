// Returns the previous value while the current one is being updated.

import { useState } from "react";

export function useStable<Value>(current: Value, isUpdating: boolean): Value {
  const [stable, setStable] = useState(current);
  if (isUpdating) return stable;
  if (!Object.is(stable, current)) setStable(current);
  return current;
}
