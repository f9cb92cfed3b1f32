import { defineConfig } from "vitest/config";

// Two files without a hash in their names: the page loads the first, and that one the second when
// an answer has a formula. They share no module, so that neither needs a third file.
export default defineConfig({
  build: {
    target: "es2022",
    outDir: "../src/citewell/api/static/widget",
    emptyOutDir: true,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { widget: "src/index.ts", "widget-math": "src/math.ts" },
      preserveEntrySignatures: "exports-only",
      output: { entryFileNames: "[name].js", format: "es" },
    },
  },
  // What is slow is told in processor time, by the tests themselves: a busy machine is no reason to fail.
  test: { environment: "happy-dom", include: ["test/**/*.test.ts"], testTimeout: 60_000 },
});
