// A value that stays as it was while it is in the making.

import { useState } from "react";

export function useSteady<Value>(current: Value, isInTheMaking: boolean): Value {
  const [steady, setSteady] = useState(current);
  if (isInTheMaking) return steady;
  if (!Object.is(steady, current)) setSteady(current);
  return current;
}
