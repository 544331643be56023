// Bundles the programs, and replaces their documents with the compiler's artifacts, like any bundler with Relay's plug-in.

import { readFile } from "node:fs/promises";

import { transformAsync } from "@babel/core";
import { build } from "esbuild";

const documents = {
  name: "relay",
  setup({ onLoad }) {
    onLoad({ filter: /\/relay\/\w+\.tsx?$/ }, async ({ path }) => {
      const { code } = await transformAsync(await readFile(path, "utf8"), {
        filename: path,
        parserOpts: { plugins: ["typescript", "jsx"] },
        plugins: [["relay", { artifactDirectory: "generated" }]],
      });
      return { contents: code, loader: "tsx" };
    });
  },
};

await build({
  entryPoints: ["main.tsx", "cache.tsx"],
  outdir: "generated",
  outExtension: { ".js": ".cjs" },
  bundle: true,
  platform: "node",
  packages: "external",
  jsx: "automatic",
  plugins: [documents],
});
