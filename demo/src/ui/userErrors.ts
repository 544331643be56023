// Errors that the user can correct, each shown at the field it concerns.

import { graphql } from "../generated";
import type { UserErrorPartsFragment } from "../generated/graphql";

export const UserErrorParts = graphql(`
  fragment UserErrorParts on UserError {
    code
    message
    field
  }
`);

type UserErrors = readonly UserErrorPartsFragment[];

/** Returns the messages for an input field. */
export const errorsAt = (errors: UserErrors, field: string): string[] =>
  errors.filter((error) => error.field?.at(-1) === field).map(({ message }) => message);

/** Returns the messages that concern none of these fields. */
export const errorsElsewhere = (errors: UserErrors, fields: readonly string[]): string[] =>
  errors.filter((error) => !fields.includes(error.field?.at(-1) ?? "")).map(({ message }) => message);
