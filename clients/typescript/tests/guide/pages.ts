// The app of `docs/clients.md` and of the README: each block of code there is a file, whose path is its first line.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = new URL("../..", import.meta.url).pathname;
const PAGES = ["../../docs/clients.md", "README.md"].map((path) => readFileSync(join(ROOT, path), "utf8"));

/** Where the app is. */
const APP = join(ROOT, "tests/guide/generated");

/** The server of the pages. */
const ORIGIN = "http://127.0.0.1:8080";

/** Returns the blocks of code of the pages in these languages. */
const blocks = (languages: string): string[] =>
  PAGES.flatMap((page) => [...page.matchAll(new RegExp(`^\`\`\`(?:${languages})\n([^]*?)^\`\`\`$`, "gm"))]).map(
    ([, code]) => code!,
  );

/** Returns the packages that the pages install. */
export function installed(): string[] {
  const lines = blocks("sh").flatMap((code) => code.split("\n"));
  const words = lines.filter((line) => line.startsWith("npm install ")).flatMap((line) => line.split(" ").slice(2));
  return words.filter((word) => !word.startsWith("--"));
}

/** Writes the app, with the types that its code generator generates, for the server with this URL. */
export function writeApp(url: string): void {
  rmSync(APP, { recursive: true, force: true });
  const paths = new Set<string>();
  for (const code of blocks("tsx?")) {
    const path = /^\/\/ ([\w./]+\.tsx?)\n/.exec(code)?.[1];
    assert.ok(path && !paths.has(path), `each block is one file: ${code}`);
    paths.add(path);
    mkdirSync(dirname(join(APP, path)), { recursive: true });
    writeFileSync(join(APP, path), url ? code.replaceAll(ORIGIN, new URL(url).origin) : code);
  }
  copyFileSync(join(ROOT, "../../schema.graphql"), join(APP, "schema.graphql"));
  const generator = join(ROOT, "node_modules/.bin/graphql-codegen");
  execFileSync(generator, ["--config", "codegen.ts"], { cwd: APP, stdio: "pipe" });
}
