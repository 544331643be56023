import { EMBEDDED_TYPES, KEY_FIELDS, POSSIBLE_TYPES, SCALARS } from "./schema.js";

export { EMBEDDED_TYPES, KEY_FIELDS, POSSIBLE_TYPES, SCALARS };

/** A value that a later version of the server may add to an enum, beside those that are known. */
export const FUTURE_VALUE = "%future added value";

/**
 * The `config` of graphql-codegen's client preset: ids, dates and times are strings, unknown scalars are errors, and each
 * enum has a further value, so that a `switch` over it needs a default. Enums may grow without notice.
 */
export const codegenConfig = {
  scalars: SCALARS,
  strictScalars: true,
  useTypeImports: true,
  enumType: "string-literal",
  futureProofEnums: true,
  futureProofUnions: true,
} as const;
