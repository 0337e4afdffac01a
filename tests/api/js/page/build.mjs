// Bundles the page into the folder that is named; nothing built is kept.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";

const [folder] = process.argv.slice(2);
await build({
  entryPoints: ["page.jsx"],
  bundle: true,
  outfile: folder + "/page.js",
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".css": "empty", ".woff": "empty", ".woff2": "empty", ".ttf": "empty" },
  logLevel: "error",
});
writeFileSync(
  folder + "/index.html",
  '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="page.js"></script>',
);
