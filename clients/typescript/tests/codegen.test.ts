// The configuration for graphql-codegen, with documents of this package's tests.

import assert from "node:assert/strict";
import { test } from "node:test";

import { generate } from "@graphql-codegen/cli";

import { codegenConfig } from "../src/codegen.js";
import { HOME, RELATION_EVENTS } from "./documents.js";

test("generated types have ids as strings, and a further value of each enum", async () => {
  const files = (await generate(
    {
      schema: "../../schema.graphql",
      documents: [HOME, RELATION_EVENTS],
      generates: { "generated/": { preset: "client", config: codegenConfig } },
      silent: true,
    },
    false,
  )) as { filename: string; content: string }[];
  const types = files.find(({ filename }) => filename.endsWith("graphql.ts"))!.content;
  assert.match(types, /status: RelationStatus/);
  const [, status = ""] = /type RelationStatus =([^;]*);/.exec(types) ?? [];
  assert.match(status, /'MUTUAL'/);
  assert.match(status, /'%future added value'/);
  assert.match(types, /followingSince: string \| null/);
  assert.match(types, /liveCursor: string \| null/);
  assert.doesNotMatch(types, /^ +\w+\??: (any|unknown)\b/m);
});
