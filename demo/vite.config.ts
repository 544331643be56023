// How the demo is built, into ../web/demo, and served while it is worked on.

import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv } from 'vite';

export default defineConfig(({ mode }) => {
  const { FANFOLD_ORIGIN = 'http://127.0.0.1:8080' } = loadEnv(mode, '.', 'FANFOLD_');
  const proxy = { '/graphql': { target: FANFOLD_ORIGIN, ws: true } };
  return {
    base: '/demo/',
    plugins: [react()],
    build: {
      outDir: '../web/demo',
      emptyOutDir: true,
      target: 'es2022',
      // Every browser that this is built for preloads modules itself.
      modulePreload: { polyfill: false },
    },
    server: { proxy },
    preview: { proxy },
  };
});
