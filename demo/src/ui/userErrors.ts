// Refusals that a person can do something about: each is shown at the field that it is about.

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

/** What is said of an input field. */
export const errorsAt = (errors: UserErrors, field: string): string[] =>
  errors.filter((error) => error.field?.at(-1) === field).map(({ message }) => message);

/** What is said of none of these fields. */
export const errorsElsewhere = (errors: UserErrors, fields: readonly string[]): string[] =>
  errors.filter((error) => !fields.includes(error.field?.at(-1) ?? "")).map(({ message }) => message);
