"""Who answers for what a person writes, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic_ai.models.test import TestModel

from workbench import models
from workbench.errors import BadInput
from workbench.models.messages import user_message
from workbench.models.model import Request, ToolSpec

HEAVY = ("pydantic_ai", "pydantic", "openai", "genai_prices", "IPython")


def loaded_by(code: str) -> str:
    seen = f"import sys\n{code}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", seen], check=True, capture_output=True, text=True).stdout.strip()


def test_importing_models_loads_no_library():
    assert (
        loaded_by("from workbench import models; models.scripted(models.call('a')); models.resolve('offline')") == "[]"
    )


def test_importing_tools_loads_no_library():
    assert loaded_by("import workbench.agents.tools") == "[]"


def test_the_names_stay_functions_however_often_they_are_used():
    assert models.scripted("a").turns == models.scripted("a").turns
    assert set(dir(models)) >= {"call", "openai_compatible", "recorded", "resolve", "scripted"}


def test_a_model_that_can_be_asked_is_taken_as_it_is():
    model = models.scripted("Hello.")

    assert models.resolve(model) is model
    assert models.resolve("offline").name == "offline"


async def test_a_model_of_the_library_is_asked_through_the_port():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    model = models.resolve(TestModel())

    turn = await model.ask(Request(None, [user_message("hi")], [ToolSpec("add", "Add.", schema)]), print)

    assert model.name == "test:test"
    assert [(call.id, call.tool, call.args) for call in turn.calls] == [("call_0_0", "add", {"a": 0})]
    assert turn.cost_microdollars is None


def test_a_missing_key_is_named(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(BadInput, match="set the environment variable OPENAI_API_KEY") as refusal:
        models.resolve("openai:gpt-5.2")

    assert refusal.value.variable == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("name", "extra"),
    [("anthropic:claude-sonnet-5", "anthropic"), ("openai:gpt-5.2", "openai"), ("google:gemini", "google")],
)
def test_a_missing_extra_is_named(monkeypatch, name, extra):
    for package in ("anthropic", "openai", "google.genai"):
        monkeypatch.setitem(sys.modules, package, None)
    for loaded in [
        module for module in sys.modules if module.startswith(("pydantic_ai.providers.", "pydantic_ai.models."))
    ]:
        monkeypatch.delitem(sys.modules, loaded)

    with pytest.raises(BadInput, match=rf"pip install 'jupyter-agent-workbench\[{extra}\]'"):
        models.resolve(name)


@pytest.mark.parametrize("model", ["gpt-5", "", "openai:", 3, None, object(), TestModel])
def test_what_is_not_understood_is_told_what_is(model):
    with pytest.raises(BadInput, match=r'is not understood; give "offline", "openai:gpt-5.2"'):
        models.resolve(model)


def test_an_unknown_provider_is_named():
    with pytest.raises(BadInput, match="no provider is called 'nobody'"):
        models.resolve("nobody:at-all")
