// Builds the page into `web/playground`, from where the server embeds it.

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/**
 * GraphiQL says that its tabs are the tabs of a tab list, and puts buttons into them, which no tab may hold: some screen
 * readers then do not find them. As a list of buttons they are found.
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
      for (const [said, meant] of replacements) {
        if (!code.includes(said)) this.error(`there is no ${said} any more`);
        code = code.replace(said, meant);
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
    // The editor is one large piece, whatever is done.
    chunkSizeWarningLimit: 4000,
  },
  worker: { format: "es" },
  server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true } } },
});
