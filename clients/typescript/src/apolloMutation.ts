import type { ApolloCache, ApolloClient } from "@apollo/client";
import type { DocumentNode } from "graphql";
import { errorOf } from "./error.js";
import type { UserError } from "./fanfold.js";
import { type ChangeData, isAccepted, userErrorsOf } from "./userErrors.js";

/** What a mutation changes in the cache besides what its response contains. */
export interface Effects {
  /** Shows the expected outcome until the server responds. */
  expect?(cache: ApolloCache): void;
  /** Writes what the response does not contain, if the server has accepted the mutation. */
  confirm?(cache: ApolloCache): void;
}

let layers = 0;

/** Executes a mutation: shown at once, and rolled back if the server rejects it. Returns the errors of the payload. */
export async function mutate(
  client: ApolloClient,
  mutation: DocumentNode,
  input: object,
  { expect, confirm }: Effects,
): Promise<readonly UserError[]> {
  const { cache } = client;
  layers += 1;
  const layer = `fanfold:${layers}`;
  const variables = { input };
  if (expect) cache.batch({ optimistic: layer, update: expect });
  try {
    const { data, error } = await client.mutate<ChangeData, any>({
      mutation,
      variables,
      fetchPolicy: "no-cache",
      errorPolicy: "all",
    });
    const userErrors = userErrorsOf(data);
    if (error) throw errorOf(error);
    const query = cache.transformDocument(mutation);
    cache.batch({
      update(cache) {
        if (isAccepted(data)) confirm?.(cache);
        cache.write({ dataId: "ROOT_MUTATION", query, variables, result: data ?? null });
      },
      removeOptimistic: layer,
    });
    return userErrors;
  } catch (cause) {
    cache.removeOptimistic(layer);
    throw errorOf(cause);
  }
}
