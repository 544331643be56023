// Builds the playground into `web/playground`, which the server embeds.

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/**
 * Turns GraphiQL's tab list into a plain list of buttons. GraphiQL puts buttons inside elements with the role `tab`,
 * which ARIA does not allow, and some screen readers skip them.
 */
function listOfTabs(): Plugin {
  const replacements = [
    ['"aria-selected": isActive,', '"aria-current": isActive ? "true" : undefined,'],
    ['role: "tab",', ""],
    ['role: "tablist",', ""],
  ] as const;
  return {
    name: "list-of-tabs",
    transform(code, id) {
      if (!id.endsWith("@graphiql/react/dist/components/tabs/index.js")) return null;
      for (const [original, replacement] of replacements) {
        if (!code.includes(original)) this.error(`GraphiQL no longer contains ${original}`);
        code = code.replace(original, replacement);
      }
      return { code, map: null };
    },
  };
}

export default defineConfig({
  base: "/playground/",
  plugins: [react(), listOfTabs()],
  build: {
    outDir: "../web/playground",
    emptyOutDir: true,
    // The editor is one large chunk that cannot be split.
    chunkSizeWarningLimit: 4000,
  },
  worker: { format: "es" },
  server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true } } },
});
