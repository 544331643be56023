// The configuration of graphql-codegen for the documents in this folder.

import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../../schema.graphql",
  documents: ["codegen/documents.ts"],
  generates: {
    "codegen/generated/": {
      preset: "client",
      presetConfig: {
        fragmentMasking: { unmaskFunctionName: "unmask" },
        // The program contains only the hash of each document; the server loads `persisted-documents.json`.
        persistedDocuments: { mode: "replaceDocumentWithHash" },
      },
      config: {
        documentMode: "string",
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
