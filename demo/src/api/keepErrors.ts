// Errors of results that the cache repeats.

import { type CombinedError, mapExchange } from "urql";

/**
 * Creates an exchange that keeps the errors of queries. When other data changes, the cache repeats a result without its
 * error: the error stands while parts of the result are missing. The exchange must be outside of the cache.
 */
export function keepErrors() {
  const errors = new Map<number, CombinedError>();
  return mapExchange({
    onOperation: ({ kind, key }) => {
      if (kind === "teardown") errors.delete(key);
    },
    onResult: (result) => {
      const { kind, key, context } = result.operation;
      if (kind !== "query") return result;
      const isPartial = context.meta?.cacheOutcome === "partial";
      const error = result.error ?? (isPartial ? errors.get(key) : undefined);
      if (error) errors.set(key, error);
      else errors.delete(key);
      return { ...result, error };
    },
  });
}
