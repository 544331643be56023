import type { GraphQLFailure } from "./error.js";

/**
 * A document with the types of its data and variables: what graphql-codegen's client preset, gql.tada and
 * `TypedDocumentNode` generate, or a string.
 */
export interface Document<Data = unknown, Variables = unknown> {
  __apiType?: (variables: Variables) => Data;
}

/** What is sent to the server: a document, or the hash of a trusted document, with its variables. */
export interface Operation {
  readonly query?: string | undefined;
  /** The id of a trusted document, such as `sha256:…`. */
  readonly documentId?: string | undefined;
  readonly operationName?: string | undefined;
  readonly variables?: { readonly [name: string]: unknown } | undefined;
  readonly extensions?: { readonly [name: string]: unknown } | undefined;
}

/** A response, or an event of a subscription. */
export interface Result<Data = unknown> {
  readonly data?: Data | null | undefined;
  readonly errors?: readonly GraphQLFailure[] | undefined;
}

/** Returns the event in the data of a subscription, which has one field. */
export const eventOf = (data: unknown): any => Object.values(data ?? {})[0];

/** The forms in which generators keep the text of a document. */
interface Source {
  /** Of a syntax tree. All other documents are strings. */
  kind?: string;
  loc?: { source: { body: string } };
  __meta__?: { hash?: string };
}

/**
 * Returns the operation of a document. `print` turns a syntax tree into text; documents that keep their text need none.
 */
export function operationOf(
  document: Document<unknown, never> | string,
  variables: object | undefined,
  print?: (document: never) => string,
): Operation {
  const source = document as Source;
  const query = source.kind ? (source.loc?.source.body ?? print?.(document as never)) : String(document);
  // With `persistedDocuments: { mode: "replaceDocumentWithHash" }`, the text is empty.
  const documentId = query ? undefined : source.__meta__?.hash;
  if (!query && !documentId) throw new TypeError("The document has no text: pass `print`.");
  return { query, documentId, variables: variables as Record<string, unknown> | undefined };
}
