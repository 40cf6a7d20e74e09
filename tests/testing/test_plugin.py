"""The plugin as somebody else's test suite uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from books import book

from workbench.testing.plugin import lessons

CONFTEST = 'pytest_plugins = ["workbench.testing.plugin"]'
SUITE = """
    import pytest
    from workbench.testing.plugin import lessons

    @pytest.mark.parametrize("path", lessons("lessons"))
    async def test_lesson(notebook, path):
        async with notebook(path) as nb:
            await nb.run_all()
"""


def test_each_lesson_is_a_test_and_leaves_its_executed_copy(pytester: pytest.Pytester) -> None:
    pytester.mkdir("lessons")
    for name, source in {"01_fine": "'taught'", "02_broken": "1 / 0"}.items():
        nbformat.write(book(cell=source), f"lessons/{name}.ipynb")
    pytester.makeini("[pytest]\nasyncio_mode = auto\nnotebook_artifacts = kept")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SUITE)

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*CellFailed: cell 'cell' of '02_broken.ipynb' raised ZeroDivisionError*"])
    kept = nbformat.read("kept/test_lesson-01_fine-.ipynb", as_version=4)
    assert kept.cells[0].outputs[0].data["text/plain"] == "'taught'"
    assert Path("kept/test_lesson-02_broken-.ipynb").exists()


def test_a_folder_without_notebooks_is_no_empty_suite(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no notebook '\*\.ipynb'; give the folder"):
        lessons(tmp_path)


def test_the_plugin_costs_nothing_until_a_notebook_is_opened() -> None:
    program = "import sys, workbench.testing.plugin; print(sorted({'nbclient', 'zmq', 'pydantic'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
