// Tells that something could not be read, and lets one try again. What passes by itself is tried again in any case.

import type { CombinedError } from "urql";
import { explain, isPassing } from "../api/failures";
import { Icon } from "./Icon";

interface FailureProps {
  error: CombinedError;
  onRetry: () => void;
}

export function Failure({ error, onRetry }: FailureProps) {
  return (
    <div className="failure" role="alert">
      <Icon name="warning" />
      <p>
        {explain(error)} {isPassing(error) && "It is tried again by itself."}
      </p>
      <button type="button" className="button quiet" onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}
