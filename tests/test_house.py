"""The house itself: what is in the repository, what an import costs, what the front page promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from workbench.testing import Notebook

ROOT = Path(__file__).parents[1]
HEAVY = [
    *("pydantic_ai", "pydantic", "openai", "anthropic", "genai_prices", "mcp", "a2a", "starlette", "uvicorn"),
    *("anywidget", "ipywidgets", "IPython", "nbclient", "nbconvert", "jupyter_client", "sqlite_utils", "psycopg"),
]
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com", "npmmirror" + ".com"]
MACHINE = re.compile(r"(?<![\w.~/-])/(?:root|work|home/\w+|Users/\w+|tmp/venv)/")


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def texts() -> dict[str, str]:
    """Every tracked text file but this one, which has to name what nobody may."""
    found = {}
    for path in tracked():
        if path != Path(__file__) and b"\0" not in (raw := path.read_bytes()):
            found[str(path.relative_to(ROOT))] = raw.decode()
    return found


def test_importing_the_package_loads_no_heavy_library() -> None:
    modules = "workbench, workbench.models, workbench.testing, workbench.testing.plugin"
    program = f"import sys, {modules}; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.split() == []


def test_notebooks_carry_no_outputs_and_no_counts() -> None:
    for path in tracked():
        if path.suffix == ".ipynb":
            notebook = nbformat.read(path, as_version=4)
            code = [cell for cell in notebook.cells if cell.cell_type == "code"]
            assert [(path.name, cell.source) for cell in code if cell.outputs or cell.execution_count] == []
            assert set(notebook.metadata) <= {"kernelspec", "language_info"}
            assert "version" not in notebook.metadata.get("language_info", {})


def test_no_file_holds_a_download_address() -> None:
    address = re.compile(r"https?://[^\s\"')]+\.(?:tgz|whl|tar\.gz|zip)\b")

    assert {name: found for name, text in texts().items() if (found := address.findall(text))} == {}
    locks = [text for name, text in texts().items() if name.endswith("package-lock.json")]
    assert [entry for lock in locks for entry in json.loads(lock)["packages"].values() if "resolved" in entry] == []


def test_no_file_names_a_registry_or_a_place_on_a_machine() -> None:
    named = {name: [host for host in HOSTS if host in text] for name, text in texts().items()}
    placed = {name: MACHINE.findall(text) for name, text in texts().items()}

    assert {name: hosts for name, hosts in named.items() if hosts} == {}
    assert {name: places for name, places in placed.items() if places} == {}


def test_what_is_installed_is_what_the_design_lists_and_what_reads_schedules_and_schemas() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    names = sorted(re.split(r"[\[<>=]", need)[0] for need in project["dependencies"])

    assert names == [
        *("anywidget", "cronsim", "genai-prices", "ipykernel", "ipywidgets", "jsonschema", "nbclient"),
        *("nbconvert", "pydantic", "pydantic-ai-slim", "sqlite-utils", "traitlets", "tzdata"),
    ]
    assert sorted(project["optional-dependencies"]) == [
        *("all", "anthropic", "bench", "docs", "endpoints", "google", "lab", "local-llm"),
        *("openai", "postgres", "test"),
    ]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text())

    assert [link for link in links if not (ROOT / link).exists()] == []


async def test_the_example_of_the_front_page_runs(tmp_path: Path) -> None:
    first = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    cells = [nbformat.v4.new_code_cell(source) for source in (first, "answer = await run\nanswer")]
    cells[1].metadata["tags"] = ["result"]
    notebook = nbformat.v4.new_notebook(cells=cells)

    async with Notebook(notebook, cwd=tmp_path) as nb:
        assert await nb.run_until(tag="result") == "waits"
        await nb.click("Approve")
        await nb.run_all()

        assert "A-1002 cancelled" in nb.output(tag="result")
