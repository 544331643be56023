// Shows that a page or a part of it could not be loaded, with a button to retry. Transient errors are also retried
// automatically.

import { errorOf } from "@fanfold/client/urql";
import { explain } from "../api/failures";
import { Icon } from "./Icon";

interface FailureProps {
  /** The error; undefined if it is no longer known. */
  error?: Error;
  onRetry: () => void;
}

export function Failure({ error, onRetry }: FailureProps) {
  return (
    <div className="failure" role="alert">
      <Icon name="warning" />
      <p>
        {error ? explain(error) : "This could not be loaded."}{" "}
        {error && errorOf(error).isTransient && "Retrying automatically."}
      </p>
      <button type="button" className="button quiet" onClick={onRetry}>
        Retry now
      </button>
    </div>
  );
}
