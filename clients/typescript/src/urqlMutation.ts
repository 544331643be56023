import type { Client, TypedDocumentNode } from "@urql/core";
import { errorOf } from "./error.js";
import type { UserError } from "./fanfold.js";
import { type ChangeData, userErrorsOf } from "./userErrors.js";

/** A document of urql, or its text. */
export type Query = TypedDocumentNode<any, any> | string;

/** Executes a mutation. Returns the errors of the payload. */
export async function mutate(client: Client, mutation: Query, input: object): Promise<readonly UserError[]> {
  const { data, error } = await client.mutation<ChangeData>(mutation, { input }).toPromise();
  if (error) throw errorOf(error);
  return userErrorsOf(data);
}
