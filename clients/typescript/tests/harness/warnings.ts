// The warnings of libraries in development: a program that imports this file fails if there are any.

import { format } from "node:util";

/** Warnings of Node, and of React that events arrive whenever the server sends them. */
const OTHERS = /^\(node:\d+\)|not wrapped in act\(/;

const warnings: string[] = [];
for (const level of ["warn", "error"] as const) {
  console[level] = (...values: unknown[]) => {
    const warning = format(...values);
    if (!OTHERS.test(warning)) warnings.push(warning);
  };
}

process.on("exit", () => {
  if (warnings.length === 0) return;
  process.stderr.write(`A library has warned:\n${warnings.join("\n")}\n`);
  process.exitCode = 1;
});
