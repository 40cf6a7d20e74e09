"""Errors on the command line name its own verbs, and no advice is translated that nobody gives any more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench import Workbench
from workbench.cli import _parser, main
from workbench.cli_words import IN_PYTHON, on_the_line

NO_KEY = "no key or run 'r9' in this store; workbench keys lists the keys, workbench runs the runs"
SOURCES = Path(workbench.__file__).parent


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"workbench {workbench.__version__}\n")


@pytest.fixture
async def store(tmp_path: Path) -> str:
    """A store with nothing in it."""
    async with Workbench.open(tmp_path / "agents.db"):
        pass
    return str(tmp_path / "agents.db")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["show", "r9"], "no run 'r9' in this store; workbench runs lists them"),
        (["kill", "r9"], "no key 'r9' in this store; workbench runs lists the runs"),
        (["journal", "r9"], NO_KEY),
        (["approve", "ap-9"], "no approval 'ap-9' in this store; workbench approvals lists the open ones"),
        (["discard", "9"], "no dead letter 9 in this store; workbench dead lists those that wait"),
        (
            ["export", "r9", "f"],
            "no key or run 'r9' in this store; workbench keys lists the keys, workbench runs the runs",
        ),
    ],
)
def test_an_error_names_the_verbs_of_the_command_line(
    store: str, capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    assert main([*words, "--store", store]) == 1
    assert capsys.readouterr().err == f"workbench: {error}\n"


def test_every_advice_that_is_translated_is_given_somewhere() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.name != "cli_words.py")

    assert [python for python in IN_PYTHON if python not in sources] == []


def test_every_verb_that_an_advice_names_is_there() -> None:
    named = {verb for line in IN_PYTHON.values() for verb in re.findall(r"workbench (\w+)", line)}
    verbs: Any = next(action for action in _parser()._actions if action.choices)

    assert named <= set(verbs.choices)
    assert on_the_line("nothing to translate") == "nothing to translate"
