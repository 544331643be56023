// Builds the demo into ../web/demo, and serves it during development.

import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

export default defineConfig(({ mode }) => {
  const { FANFOLD_ORIGIN = "http://127.0.0.1:8080" } = loadEnv(mode, ".", "FANFOLD_");
  const proxy = { "/graphql": { target: FANFOLD_ORIGIN, ws: true } };
  // The policy that the server sends with these pages.
  const headers = {
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
      "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  };
  return {
    base: "/demo/",
    plugins: [react()],
    build: {
      outDir: "../web/demo",
      emptyOutDir: true,
      target: "es2022",
      // All targeted browsers support module preloading.
      modulePreload: { polyfill: false },
    },
    server: { proxy },
    preview: { proxy, headers },
  };
});
