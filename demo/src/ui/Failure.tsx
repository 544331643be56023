// Shows that a read failed, with a button to retry. Transient errors are also retried automatically.

import type { CombinedError } from "urql";
import { explain, isTransient } from "../api/failures";
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
        {explain(error)} {isTransient(error) && "Retrying automatically."}
      </p>
      <button type="button" className="button quiet" onClick={onRetry}>
        Retry now
      </button>
    </div>
  );
}
