import { defineConfig } from "vite";

// The page is served by the Python server from the package's own directory: addresses are relative to its root, names
// in assets/ carry a hash and are cached for ever.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/fourhands/static",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    chunkSizeWarningLimit: 4000,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { pluginTimings: false } }, // the time a plugin took is no warning
  },
  worker: { format: "es" },
});
