// Builds the page into `web/playground`, from where the server embeds it.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "/playground/",
  plugins: [react()],
  build: {
    outDir: "../web/playground",
    emptyOutDir: true,
    // The editor is one large piece, whatever is done.
    chunkSizeWarningLimit: 4000,
  },
  worker: { format: "es" },
  server: { proxy: { "/graphql": { target: "http://127.0.0.1:8080", ws: true } } },
});
