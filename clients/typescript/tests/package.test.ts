// The package as it is published: its files, its sizes, its types, and what it knows of the schema.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { buildSchema, isInterfaceType, isObjectType, isScalarType, isSpecifiedScalarType, isUnionType } from "graphql";

import { installed, writeApp } from "./guide/pages.js";
import { skip, URL_OF_API } from "./harness/world.js";
import { CONNECTIONS, EMBEDDED_TYPES, KEY_FIELDS, listArguments, POSSIBLE_TYPES, SCALARS } from "../src/schema.js";

const ROOT = new URL("..", import.meta.url).pathname;
const PEERS = ["@apollo/client", "@urql/core", "@urql/exchange-graphcache", "graphql", "react", "relay-runtime"];
const KILOBYTE = 1024;

/** Returns the size of a program with these imports, minified and compressed. */
async function sizeOf(program: string, external: string[]): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: ROOT },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    external,
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

const CORE = 'export { createFanfold } from "@fanfold/client";';

test("the core has at most 3 KB, and 6 KB with graphql-ws", async () => {
  const [own, all] = [await sizeOf(CORE, ["graphql-ws"]), await sizeOf(CORE, [])];
  assert.ok(own <= 3 * KILOBYTE, `${own}`);
  assert.ok(all <= 6 * KILOBYTE, `${all}`);
});

for (const binding of ["apollo", "urql", "relay", "react", "codegen"]) {
  test(`${binding} adds at most 4 KB`, async () => {
    const core = await sizeOf(CORE, ["graphql-ws"]);
    const both = await sizeOf(`${CORE} export * from "@fanfold/client/${binding}";`, ["graphql-ws", ...PEERS]);
    assert.ok(both - core <= 4 * KILOBYTE, `${both - core}`);
  });
}

for (const cache of ["apollo", "urql", "relay"]) {
  test(`the reactions of ${cache} add at most 1 KB`, async () => {
    const binding = `${CORE} export * from "@fanfold/client/${cache}";`;
    const external = ["graphql-ws", ...PEERS];
    const both = await sizeOf(`${binding} export * from "@fanfold/client/${cache}/reactions";`, external);
    assert.ok(both - (await sizeOf(binding, external)) <= KILOBYTE, `${both}`);
  });
}

test("a program contains only what it imports", async () => {
  const relation = await sizeOf('export { expectRelation } from "@fanfold/client";', []);
  assert.ok(relation < KILOBYTE / 2, `${relation}`);
  const entries = await sizeOf('export { applyToEntries } from "@fanfold/client";', []);
  assert.ok(entries < KILOBYTE, `${entries}`);
});

test("the archive has the compiled files, and no others", () => {
  const options = { cwd: ROOT, encoding: "utf8" } as const;
  // The package is built already, and other programs may read it.
  const pack = ["pack", "--dry-run", "--json", "--silent", "--ignore-scripts"];
  const [archive] = JSON.parse(execFileSync("npm", pack, options));
  const files: string[] = archive.files.map(({ path }: { path: string }) => path);
  const others = files.filter((path) => !/^dist\/\w+\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { exports: Record<string, string> };
  for (const path of Object.values(exports)) {
    assert.ok(files.includes(path.slice(2)), path);
    if (path.endsWith(".js")) assert.ok(files.includes(path.slice(2).replace(/js$/, "d.ts")), path);
  }
});

/** Runs a program of Node. */
function run(...program: string[]): void {
  const env = { ...process.env, TSX_TSCONFIG_PATH: "tests/guide/tsconfig.json" };
  execFileSync("node", program, { cwd: ROOT, env, stdio: "pipe", encoding: "utf8" });
}

test("the pages install packages with which the package is tested", () => {
  const own = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const archive = `./${own.name.slice(1).replace("/", "-")}-${own.version}.tgz`;
  const [first, ...others] = installed();
  assert.equal(first, archive);
  for (const word of others) {
    const [, name, major] = /^(.+?)(?:@(\d+))?$/.exec(word)!;
    assert.ok(own.devDependencies[name!], word);
    if (major) assert.equal(own.peerDependencies[name!], `^${major}.0.0`, word);
  }
});

test("the app of the pages compiles, with the package as it is published", () => {
  writeApp(URL_OF_API);
  for (const compiler of ["typescript", "typescript-newest"]) {
    run(`node_modules/${compiler}/bin/tsc`, "--project", "tests/guide");
  }
});

test("the app of the pages is live", { skip }, () => {
  run("--conditions=development", "--import", "tsx", "tests/guide/play.tsx");
});

const schema = buildSchema(readFileSync(`${ROOT}../../schema.graphql`, "utf8"));
const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));
const objects = types.filter(isObjectType);

test("the lists of connections are those of the schema", () => {
  const isConnection = (type: unknown) => /Connection$/.test(String(type));
  const found = objects.flatMap((type) => {
    const fields = Object.values(type.getFields()).filter((field) => isConnection(field.type));
    return fields.length > 0 ? [[type.name, fields.map(({ name }) => name).sort()]] : [];
  });
  assert.deepEqual(CONNECTIONS, Object.fromEntries(found));
});

test("the types without ids are those of the schema", () => {
  const isPart = ({ name }: { name: string }) => !/(Connection|Edge|Payload|PageInfo|UserError)$/.test(name);
  const roots = ["Mutation", "Query", "Subscription"];
  const found = objects.filter((type) => !type.getFields()["id"] && isPart(type) && !roots.includes(type.name));
  assert.deepEqual([...EMBEDDED_TYPES, ...Object.keys(KEY_FIELDS)].sort(), found.map(({ name }) => name).sort());
  for (const [type, field] of Object.entries(KEY_FIELDS)) {
    assert.ok(objects.find(({ name }) => name === type)!.getFields()[field], `${type}.${field}`);
  }
});

test("the types of interfaces and unions, and the scalars, are those of the schema", () => {
  const abstract = types.filter((type) => isInterfaceType(type) || isUnionType(type));
  const found = abstract.map((type) => [
    type.name,
    schema
      .getPossibleTypes(type as never)
      .map(({ name }) => name)
      .sort(),
  ]);
  assert.deepEqual(POSSIBLE_TYPES, Object.fromEntries(found));
  const scalars = types.filter((type) => isScalarType(type) && !isSpecifiedScalarType(type)).map(({ name }) => name);
  assert.deepEqual(Object.keys(SCALARS).sort(), [...scalars, "ID"].sort());
});

test("each argument but those of pages selects another list", () => {
  const args = { first: 20, after: "cursor", replies: "ALL", order: null };
  assert.deepEqual(listArguments(args), { replies: "ALL" });
});
