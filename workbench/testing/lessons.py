"""The lessons: where they lie, and where a person works in them.

- A checkout's are worked in where they are. Those of an installed package are copied first: what a lesson leaves beside
  itself, and what is changed in it, is the person's, and goes with no upgrade.
- What is in the person's folder already is never overwritten.
"""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from workbench.errors import BadInput, NotShown

__all__ = ["FOLDER", "lesson", "lessons_to_work_in"]

FOLDER = "workbench-lessons"


def lesson(name: str) -> Path:
    """Where a lesson lies: beside the package in a checkout, inside it when installed. Raises: NotShown."""
    for folder in (_checkout(), _installed()):
        if (folder / name).is_file():
            return folder / name
    raise NotShown(f"there is no lesson {name!r} in {_checkout()} or {_installed()}", asked=name, found=None)


def lessons_to_work_in() -> Path:
    """The folder of a checkout's lessons, else `workbench-lessons` here with a copy of each that was not there yet.

    Raises: NotShown without lessons; BadInput when the folder cannot be written.
    """
    lessons = lesson("01_first_run.ipynb").parent
    return lessons if lessons == _checkout() else _copied(lessons, Path.cwd() / FOLDER)


def _copied(lessons: Path, into: Path) -> Path:
    try:
        into.mkdir(exist_ok=True)
        for each in sorted(lessons.glob("*.ipynb")):
            if not (into / each.name).exists():
                shutil.copyfile(each, into / each.name)
    except OSError as error:
        raise BadInput(
            f"the lessons cannot be copied to {str(into)!r}: {error.strerror}; run it in a folder of yours"
        ) from error
    return into


def _checkout() -> Path:
    return Path(__file__).parents[2] / "notebooks"


def _installed() -> Path:
    return Path(str(resources.files("workbench"))) / "lessons"
