// Bundles the page into assets/: `node build.mjs [FOLDER]`. Called by scripts/page.

import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), to = process.argv[2] ?? join(here, "../assets");
mkdirSync(to, { recursive: true });

// FNV-1a over the sources, in the order of their names: a test of the crate holds the bundle to it.
const files = [...readdirSync(join(here, "src")).map((f) => ["src", f]), [".", "package-lock.json"], [".", "build.mjs"]];
files.sort(([, a], [, b]) => (a < b ? -1 : 1));
let hash = 0xcbf29ce484222325n;
for (const [folder, file] of files) for (const byte of readFileSync(join(here, folder, file))) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);

const result = await build({
    entryPoints: [join(here, "src/main.js")], bundle: true, minify: true, format: "esm", target: "es2022", write: false, legalComments: "inline",
    // Never split a document in two.
    supported: { "inline-script": false },
});
// What runs while the program is still read.
const start = await build({ entryPoints: [join(here, "src/start.js")], bundle: true, minify: true, format: "iife", target: "es2022", write: false });
writeFileSync(join(to, "start.js"), start.outputFiles[0].text);
const licence = readFileSync(join(here, "node_modules/three/LICENSE"), "utf8").trim();
const script = `/* drystone viewer ${hash.toString(16).padStart(16, "0")}; with three.js:\n${licence}\n*/\n${result.outputFiles[0].text}`;
writeFileSync(join(to, "viewer.js"), script);
const style = await build({ entryPoints: [join(here, "src/style.css")], minify: true, write: false });
writeFileSync(join(to, "viewer.css"), style.outputFiles[0].text);
writeFileSync(join(to, "index.html"), readFileSync(join(here, "src/index.html")));
console.log(`${Math.round(script.length / 1024)} kB`);
