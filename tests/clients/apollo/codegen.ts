// The configuration of graphql-codegen for the documents in this folder.

import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../../schema.graphql",
  documents: ["apollo/documents.ts"],
  generates: {
    "apollo/generated/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        // The type checker then requires code for values that a later version of the server adds.
        futureProofEnums: true,
        scalars: { ID: "string", Date: "string", DateTime: "string" },
        strictScalars: true,
        useTypeImports: true,
      },
    },
  },
};

export default config;
