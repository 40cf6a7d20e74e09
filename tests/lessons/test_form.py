"""The form of the lessons: short, mostly prose, a promise first and its proof last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells(lesson: Path, kind: str | None = None) -> list[nbformat.NotebookNode]:
    found = nbformat.read(lesson, as_version=4).cells
    return [cell for cell in found if kind in (None, cell.cell_type)]


def test_there_are_lessons() -> None:
    assert [lesson.name[:2] for lesson in LESSONS[:2]] == ["01", "02"]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_short_and_mostly_prose(lesson: Path) -> None:
    code, prose = cells(lesson, "code"), cells(lesson, "markdown")

    assert 20 <= len(code) + len(prose) <= 40
    assert len(prose) / (len(code) + len(prose)) >= 0.45
    assert max(len(cell.source.splitlines()) for cell in code) <= 20


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_promises_first_and_proves_last(lesson: Path) -> None:
    first, last = cells(lesson)[0], cells(lesson)[-1]

    assert "**Promise:**" in first.source
    assert "assert " in last.source
