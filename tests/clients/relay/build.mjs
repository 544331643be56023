// Bundles the program; its documents become what the compiler has made of them, as any bundler with the plug-in of
// Relay does it.

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
  entryPoints: ["main.tsx"],
  outfile: "generated/main.cjs",
  bundle: true,
  platform: "node",
  packages: "external",
  jsx: "automatic",
  plugins: [documents],
});
