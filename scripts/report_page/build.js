// Builds what the page of `hostbridge report` draws with, into a folder:
//
//     npm ci && npm run build -- [FOLDER]      (by default bridge/report/vendor)
//
// plot.js        Observable Plot and the parts of d3 that it needs, as one script
// LICENSES.txt   the licence of each package whose code is in it
//
// The same versions, which package-lock.json pins, give the same bytes. After a change,
// tests/report/test_vendor.py says which digest to record.
import {readFileSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "../../bridge/report/vendor");

const {metafile} = await build({
  absWorkingDir: here,
  entryPoints: ["plot.js"],
  outfile: join(folder, "plot.js"),
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plot",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  banner: {js: "/* Observable Plot and d3; see LICENSES.txt beside this file. */"},
  metafile: true
});

const [output] = Object.values(metafile.outputs);
const used = Object.entries(output.inputs)
  .filter(([, {bytesInOutput}]) => bytesInOutput > 0)
  .map(([path]) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]);
const packages = [...new Set(used.filter(Boolean))].sort();
const licences = packages.map((name) => {
  const root = join(here, "node_modules", name);
  const {version, license} = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const text = readFileSync(join(root, "LICENSE"), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(
  join(folder, "LICENSES.txt"),
  "plot.js holds code of these packages.\n\n" + licences.join(`\n${"-".repeat(72)}\n\n`)
);
console.log(`${join(folder, "plot.js")}: ${output.bytes} bytes, of ${packages.length} packages`);
