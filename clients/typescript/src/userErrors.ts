import type { UserError } from "./fanfold.js";

/** The data of a mutation of one field, under any name. */
export type ChangeData = { readonly [field: string]: { readonly userErrors: readonly UserError[] } | null };

/** Returns the errors of the payload of a mutation. */
export const userErrorsOf = (data: ChangeData | null | undefined): readonly UserError[] =>
  Object.values(data ?? {})[0]?.userErrors ?? [];
