"""Where `workbench lab` opens the lessons: a copy of one's own where the package is installed from a wheel."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
STAND_IN = "import json, sys\nprint(json.dumps(sys.argv[1:]))\n"

pytest.importorskip("hatchling", reason="a wheel is built by hatchling")


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the package comes from a wheel, with a stand-in for JupyterLab beside it."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(site)
    (site / "jupyterlab").mkdir()
    (site / "jupyterlab" / "__init__.py").touch()
    (site / "jupyterlab" / "__main__.py").write_text(STAND_IN)
    return {**os.environ, "PYTHONPATH": str(site)}


async def lab(folder: Path, environment: dict[str, str]) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workbench", "lab"),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_an_installed_lab_opens_a_copy_and_overwrites_nothing(tmp_path: Path, installed: dict[str, str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    mine = home / "workbench-lessons"

    first = await lab(home, installed)
    (mine / "01_first_run.ipynb").write_text("edited")
    (mine / "02_it_survives.ipynb").unlink()
    second = await lab(home, installed)

    for status, out, _ in (first, second):
        said, line = out.splitlines()
        assert (status, said, json.loads(line)[-1]) == (0, f"The lessons are in {mine}", str(mine))
    names = [path.name for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
    assert [path.name for path in sorted(mine.iterdir())] == names
    assert (mine / "01_first_run.ipynb").read_text() == "edited"
    assert (mine / "02_it_survives.ipynb").read_bytes() == (ROOT / "notebooks" / "02_it_survives.ipynb").read_bytes()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, installed: dict[str, str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "workbench-lessons").touch()

    status, out, err = await lab(home, installed)

    assert (status, out) == (1, "")
    assert err.startswith(f"workbench: the lessons cannot be copied to {str(home / 'workbench-lessons')!r}: ")
