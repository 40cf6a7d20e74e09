"""Disks that run full: a small one of memory, where this machine lets us mount it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BALLAST = "ballast"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes of its own."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a disk of our own needs Linux and root")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "workbench-test", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"this machine mounts no disk of memory: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave no byte."""
    with (disk / BALLAST).open("ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2


def relieve(disk: Path) -> None:
    """Give the room back."""
    (disk / BALLAST).unlink()


def remount(disk: Path, how: str) -> None:
    """Have the disk read and written (`rw`), or only read (`ro`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)
