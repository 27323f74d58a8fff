import { build, defineConfig, type Plugin, type Rolldown } from "vite";

// What connects is written into the page itself, so that it waits for nothing; the server names its digest in the policy.
const head: Plugin = {
  name: "fourhands-head",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: async (html) => {
      const built = await build({
        configFile: false,
        logLevel: "warn",
        build: { write: false, target: "es2022", lib: { entry: "src/wire/head.ts", formats: ["iife"], name: "head" } },
      });
      const [{ output }] = built as [Rolldown.RolldownOutput];
      // Before the styles, which a script behind them would wait for.
      return html.replace("</title>", (end) => `${end}\n    <script>${output[0].code.trim()}</script>`);
    },
  },
};

// The page is served by the Python server from the package's own directory: addresses are relative to its root, names
// in assets/ carry a hash and are cached for ever.
export default defineConfig({
  base: "/",
  plugins: [head],
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
