import type { UserError } from "./fanfold.js";

/** The data of a mutation of one field, under any name. */
export type ChangeData = { readonly [field: string]: { readonly userErrors: readonly UserError[] } | null };

/** Returns true if the server has executed a mutation: there is a payload, without errors. */
export const isAccepted = (data: ChangeData | null | undefined): boolean =>
  Object.values(data ?? {})[0]?.userErrors.length === 0;

/** Returns the errors of the payload of a mutation. */
export const userErrorsOf = (data: ChangeData | null | undefined): readonly UserError[] =>
  Object.values(data ?? {})[0]?.userErrors ?? [];
