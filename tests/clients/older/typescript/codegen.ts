// The configuration of graphql-codegen for the documents of an earlier version.

import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "older/schema.graphql",
  documents: ["older/documents.graphql"],
  generates: {
    "older/typescript/generated/": {
      preset: "client",
      config: {
        documentMode: "string",
        // The type checker then requires code for values that a later version of the server adds.
        futureProofEnums: true,
        scalars: { ID: "string" },
        strictScalars: true,
        useTypeImports: true,
      },
    },
  },
};

export default config;
