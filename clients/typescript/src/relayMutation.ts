import {
  commitMutation,
  type Environment,
  type GraphQLTaggedNode,
  type MutationParameters,
  type RecordSourceProxy,
} from "relay-runtime";
import { errorOf } from "./error.js";
import type { UserError } from "./fanfold.js";
import { type ChangeData, isAccepted, userErrorsOf } from "./userErrors.js";

/**
 * Executes a mutation: shown at once, and rolled back if the server rejects it. Returns the errors of the payload.
 *
 * @param expect Writes the expected outcome, again whenever the store changes before the server responds.
 * @param confirm Writes what the response does not contain, if the server has accepted the mutation.
 */
export const mutate = (
  environment: Environment,
  mutation: GraphQLTaggedNode,
  input: object,
  expect: (store: RecordSourceProxy) => void,
  confirm?: (store: RecordSourceProxy) => void,
): Promise<readonly UserError[]> =>
  new Promise((resolve, reject) => {
    commitMutation<MutationParameters>(environment, {
      mutation,
      variables: { input },
      optimisticUpdater: expect,
      // Also called if there is no payload, but only errors of the request.
      updater: (store, data) => isAccepted(data as ChangeData) && confirm?.(store),
      onCompleted: (data, errors) =>
        errors?.length ? reject(errorOf({ errors })) : resolve(userErrorsOf(data as ChangeData)),
      onError: (error) => reject(errorOf(error)),
    });
  });
