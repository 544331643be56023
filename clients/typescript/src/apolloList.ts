/** A list in Apollo Client's cache. Objects are references. */
export interface CachedList {
  readonly edges?: readonly CachedEdge[];
  readonly nodes?: readonly Reference[];
  readonly pageInfo?: { readonly hasNextPage: boolean };
}

export interface Reference {
  readonly __ref: string;
}

export interface CachedEdge {
  readonly key?: string;
  readonly positions?: readonly string[];
  readonly repostedBy?: readonly Reference[];
  readonly node: Reference;
}
