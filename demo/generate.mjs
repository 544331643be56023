// Writes src/generated: typed documents from the GraphQL in the sources (the client preset of GraphQL Code Generator),
// and the schema in the format of the normalised cache.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { preset } from "@graphql-codegen/client-preset";
import { codegen } from "@graphql-codegen/core";
import { gqlPluckFromCodeString } from "@graphql-tools/graphql-tag-pluck";
import { getIntrospectedSchema, minifyIntrospectionQuery } from "@urql/introspection";
import { buildSchema, parse } from "graphql";

const SOURCES = "src";
const GENERATED = "src/generated/";
const SCHEMA = "../schema.graphql";

const sdl = readFileSync(SCHEMA, "utf8");
const schema = buildSchema(sdl);

const sourceFiles = readdirSync(SOURCES, { recursive: true })
  .map((path) => join(SOURCES, path))
  .filter((path) => [".ts", ".tsx"].includes(extname(path)) && !path.startsWith(GENERATED))
  .sort();

const documents = (
  await Promise.all(
    sourceFiles.map(async (location) => {
      const plucked = await gqlPluckFromCodeString(location, readFileSync(location, "utf8"), {
        globalGqlIdentifierName: "graphql",
        skipIndent: true,
      });
      return plucked.map(({ body }) => ({ location, rawSDL: body, document: parse(body) }));
    }),
  )
).flat();

const sections = await preset.buildGeneratesSection({
  baseOutputDir: GENERATED,
  presetConfig: { fragmentMasking: { unmaskFunctionName: "readFragment" } },
  config: {
    strictScalars: true,
    scalars: { Date: "string", DateTime: "string" },
    enumType: "string-literal",
    useTypeImports: true,
  },
  schema: parse(sdl),
  schemaAst: schema,
  documents,
  documentTransforms: [],
  plugins: [],
  pluginMap: {},
});

rmSync(GENERATED, { recursive: true, force: true });
mkdirSync(GENERATED, { recursive: true });
for (const section of sections) writeFileSync(section.filename, await codegen(section));

const introspection = minifyIntrospectionQuery(getIntrospectedSchema(sdl));
writeFileSync(join(GENERATED, "schema.json"), JSON.stringify(introspection));

console.log(`${GENERATED}: ${documents.length} documents from ${sourceFiles.length} files`);
