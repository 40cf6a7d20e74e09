"""The MCP conformance suite against a door: every scored scenario of both revisions passes.

The suite is a package of npm, which `make test` installs beside this file; it wants Node 22 or later.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import conformance_door
import pytest

from workbench import Workbench
from workbench.endpoints import publishing

SUITE = Path(__file__).parent / "mcp_suite/node_modules/@modelcontextprotocol/conformance/dist/index.js"
TOKEN = "suite-token-of-a-test"


def node() -> str:
    """Node 22 or later: that of this Python's environment, else the machine's."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for place in places.split(os.pathsep):
        found = shutil.which("node", path=place)
        if found is not None:
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
            if int(said.strip().lstrip("v").split(".")[0]) >= 22:
                return found
    pytest.skip("there is no Node 22 or later here; make test brings one")


@pytest.mark.skipif(not SUITE.exists(), reason="the suite is not installed; make test installs it")
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_every_scored_scenario_passes(revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(publishing.MODULES, "mcp", "conformance_door")

    async with Workbench.open(":memory:", conformance_door.FIXTURES) as bench:
        door = await bench.publish(mcp={"suite": TOKEN}, middleware=[conformance_door.with_bearer(TOKEN)])
        asked = [node(), str(SUITE), "server", "--url", f"{door.url}/mcp", "--requirements", revision]
        suite = await asyncio.create_subprocess_exec(
            *asked, "-o", str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path
        )
        said = (await suite.communicate())[0].decode()

    scored = said.partition("Not scored")[0]
    assert suite.returncode == 0, said
    assert "Total: " in scored
