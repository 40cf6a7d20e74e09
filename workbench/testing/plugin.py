"""The pytest plugin: notebooks as fixtures and as parameters, and readable assertions inside the laws.

Name it in the top `conftest.py`: `pytest_plugins = ["workbench.testing.plugin"]`. It is no entry point, so nobody
has it who did not ask.

- `notebook` opens notebooks in the test's own folder, and keeps executed copies where the ini value
  `notebook_artifacts` says.
- `lessons(folder)` gives one parameter per notebook of a folder.

Knows nothing of agents; the embassy of pytest. Heavy parts load when a notebook is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from workbench.testing.notebooks import Notebook

__all__ = ["lessons", "notebook"]

pytest.register_assert_rewrite("workbench.testing.conformance")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare where executed copies are kept."""
    parser.addini("notebook_artifacts", "folder for executed notebooks, relative to the root; none are kept without it")


def lessons(folder: str | Path, pattern: str = "*.ipynb") -> list[ParameterSet]:
    """One parameter per notebook of `folder` in the order of their names, each with its name as the id.

    Raises: FileNotFoundError when there is none, so that a moved folder does not pass as an empty suite.
    """
    found = sorted(Path(folder).glob(pattern))
    if not found:
        raise FileNotFoundError(f"{str(folder)!r} has no notebook {pattern!r}; give the folder that holds them")
    return [pytest.param(path, id=path.stem) for path in found]


@pytest.fixture
def notebook(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Notebook]]:
    """Give `notebook(path, **options)`, a `Notebook` for `async with`, in the test's own folder without a `cwd`."""
    from workbench.testing.notebooks import Notebook

    opened: list[Notebook] = []

    def open_(source: Any, **options: Any) -> Notebook:
        opened.append(Notebook(source, **{"cwd": tmp_path} | options))
        return opened[-1]

    yield open_
    if folder := request.config.getini("notebook_artifacts"):
        _keep(opened, request.config.rootpath / folder, request.node.name)


def _keep(opened: list[Notebook], folder: Path, test: str) -> None:
    for number, book in enumerate(opened, start=1):
        name = f"{test}-{number}" if len(opened) > 1 else test
        book.write(folder / f"{''.join(c if c.isalnum() or c in '-_' else '-' for c in name)}.ipynb")
