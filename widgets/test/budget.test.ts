import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const BUDGET: Record<string, number> = { "run.js": 40_000, "approvals.js": 32_000, "process.js": 28_000, "compare.js": 30_000, "team.js": 36_000, "run.css": 8_000, "approvals.css": 8_000, "process.css": 8_000, "compare.css": 8_000, "team.css": 8_000 };

test("the bundles keep their budgets, prefix every selector and fetch nothing", () => {
  const into = mkdtempSync(join(tmpdir(), "workbench-budget-"));
  try {
    assert.equal(spawnSync(process.execPath, ["build.mjs", "--into", into], { stdio: "inherit" }).status, 0);
    for (const [name, most] of Object.entries(BUDGET)) {
      const content = readFileSync(join(into, name));
      const bytes = gzipSync(content, { level: 9 }).length;
      assert.ok(bytes <= most, `${name} is ${bytes} bytes gzipped, the budget is ${most}`);
      assert.doesNotMatch(content.toString().replaceAll("http://www.w3.org/", ""), /https?:\/\//);
      if (name.endsWith(".css")) {
        for (const [, selectors] of content.toString().matchAll(/(?:^|[{}])([^{}@]+)\{/g)) {
          for (const selector of (selectors ?? "").split(/,(?![^(]*\))/)) assert.match(selector, /\.wb-|^to$/, `${name}: ${selector}`);
        }
      }
    }
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
});
