// The only builder: each view → one ESM and one CSS in workbench/widgets/static/, plus tests and the gallery for development.
//
//   node build.mjs              the bundles
//   node build.mjs --into DIR   the bundles, in another folder
//   node build.mjs --watch      the bundles, again after every change
//   node build.mjs --test       the unit tests, bundled and run under node --test
//   node build.mjs --gallery    one page with every scenario, in gallery/dist/

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "workbench", "widgets", "static");
const views = ["run", "approvals", "process", "compare", "team"];

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
  charset: "utf8",
};

const bundles = {
  ...shared,
  entryPoints: views.flatMap((name) => [
    { in: `src/${name}/widget.ts`, out: name },
    { in: `src/${name}/style.css`, out: name },
  ]),
  outdir: out,
  minify: true,
  legalComments: "none",
};

async function test() {
  const into = mkdtempSync(join(tmpdir(), "workbench-widgets-"));
  const names = readdirSync(join(here, "test")).filter((name) => /\.test\.tsx?$/.test(name));
  try {
    await esbuild.build({
      ...shared,
      entryPoints: names.map((name) => `test/${name}`),
      outdir: into,
      outExtension: { ".js": ".mjs" },
      platform: "node",
      external: ["happy-dom"],
      sourcemap: "inline",
      banner: { js: `import { createRequire } from "node:module"; const require = createRequire(${JSON.stringify(join(here, "x.js"))});` },
      plugins: [outside(["happy-dom"])],
    });
    const files = readdirSync(into).filter((name) => name.endsWith(".mjs")).map((name) => join(into, name));
    return spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-force-exit", "--test-timeout=60000", ...files], { stdio: "inherit", cwd: here }).status ?? 1;
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
}

/** Imports of these packages stay imports, by the place where they are installed. */
function outside(packages) {
  return {
    name: "outside",
    setup(build) {
      build.onResolve({ filter: new RegExp(`^(${packages.join("|")})$`) }, ({ path }) => ({
        path: import.meta.resolve(path),
        external: true,
      }));
    },
  };
}

async function gallery() {
  await esbuild.build({
    ...shared,
    entryPoints: ["gallery/gallery.tsx", "gallery/gallery.css"],
    outdir: join(here, "gallery", "dist"),
    sourcemap: "inline",
  });
}

const mode = process.argv[2];
if (mode === "--into") bundles.outdir = process.argv[3];
if (mode === "--test") process.exit(await test());
else if (mode === "--gallery") await gallery();
else if (mode === "--watch") await (await esbuild.context(bundles)).watch();
else await esbuild.build(bundles);
