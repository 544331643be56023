// Takes the place of a part of a page that is not there: it is being loaded, or could not be loaded.

import { Failure } from "./Failure";
import { Loading } from "./Loading";

export interface Reading {
  isLoading: boolean;
  error?: Error;
  refetch: () => void;
}

interface MissingProps {
  what: string;
  /** The query that reads the part. */
  reading: Reading;
}

export function Missing({ what, reading: { isLoading, error, refetch } }: MissingProps) {
  return isLoading ? <Loading what={what} /> : <Failure error={error} onRetry={refetch} />;
}
