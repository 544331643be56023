// How the demo is built, into ../web/demo, and served while it is worked on.

import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

export default defineConfig(({ mode }) => {
  const { FANFOLD_ORIGIN = "http://127.0.0.1:8080" } = loadEnv(mode, ".", "FANFOLD_");
  const proxy = { "/graphql": { target: FANFOLD_ORIGIN, ws: true } };
  // The policy under which the server sends these pages.
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
      // Every browser that this is built for preloads modules itself.
      modulePreload: { polyfill: false },
    },
    server: { proxy },
    preview: { proxy, headers },
  };
});
