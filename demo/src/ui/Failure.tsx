// Shows that a page or a part of it could not be loaded, with a button to retry. Transient errors are also retried
// automatically.

import type { CombinedError } from "urql";
import { explain, isTransient } from "../api/failures";
import { Icon } from "./Icon";

interface FailureProps {
  /** The error; undefined if it is no longer known. */
  error?: CombinedError;
  onRetry: () => void;
}

export function Failure({ error, onRetry }: FailureProps) {
  return (
    <div className="failure" role="alert">
      <Icon name="warning" />
      <p>
        {error ? explain(error) : "This could not be loaded."}{" "}
        {error && isTransient(error) && "Retrying automatically."}
      </p>
      <button type="button" className="button quiet" onClick={onRetry}>
        Retry now
      </button>
    </div>
  );
}
