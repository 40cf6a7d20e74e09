"""The probe of a compatible server: what it finds out, and that nothing a server does makes it fail."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, called, closing, text

from workbench import cli, models
from workbench.errors import BadInput

pytest.importorskip("openai")

ADD = called(("c1", "add", '{"a": 17, "b": 25}'))
CITY = called(("c1", "final_result", '{"city": "Paris"}'))
GOOD = [
    Answer([text("Hello"), text(" to you"), *closing("stop")]),
    Answer([ADD, *closing("tool_calls")]),
    Answer([CITY, *closing("tool_calls")]),
]


def works(table: Any) -> dict[str, bool]:
    return {row["check"]: row["works"] for row in table}


async def test_a_server_that_does_everything_passes_every_check():
    async with OpenAIServer(*GOOD) as server:
        table = await models.probe(server.url)

    assert works(table) == dict.fromkeys(
        [
            "lists its models",
            "streams an answer",
            "reports usage",
            "says why it stops",
            "calls a tool",
            "gives a typed output",
        ],
        True,
    )
    assert [row["seen"] for row in table][2:5] == ["7 in, 3 out", "stop", 'add({"a": 17, "b": 25})']


async def test_what_a_server_leaves_out_is_told():
    answers = [Answer([text("Hello.")]), Answer([text("42"), *closing("stop")]), Answer(status=400)]
    async with OpenAIServer(*answers) as server:
        server.lists = False
        model = models.openai_compatible(server.url, "qwen3")
        table = await model.probe()
        await model.close()

    assert not any(works(table).values())
    seen = {row["check"]: row["seen"] for row in table}
    assert "cut" not in seen["lists its models"]
    assert seen["calls a tool"] == "no call, but '42'"
    assert "refuses this request" in seen["gives a typed output"]


async def test_a_server_that_is_not_there_fails_every_check_and_raises_nothing():
    async with OpenAIServer() as server:
        url = server.url

    table = await models.probe(url, "qwen3")

    assert (len(table), any(works(table).values())) == (6, False)
    assert "cannot be reached" in table[1]["seen"]


async def test_a_model_must_be_named_where_none_is_listed():
    async with OpenAIServer() as server:
        server.lists = False

        with pytest.raises(BadInput, match=r"lists no models .*; name one"):
            await models.probe(server.url)


async def test_what_is_no_address_is_said_before_anything_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(BadInput, match=r"the url of a model's server begins with http:// .*, found 'notaurl'"):
        await models.probe("notaurl")


@pytest.mark.parametrize("name", [None, "qwen3"])
async def test_without_the_package_its_extra_is_named(name: str | None, monkeypatch: pytest.MonkeyPatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "openai"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.models.openai", raising=False)

    with pytest.raises(BadInput, match=r"; run pip install 'jupyter-agent-workbench\[openai\]'$"):
        await models.probe("http://127.0.0.1:9/v1", name)


async def test_the_command_line_says_the_same(capsys: pytest.CaptureFixture[str]):
    async with OpenAIServer(*GOOD) as server:
        options = cli._parser().parse_args(["probe", server.url, "qwen3", "--json"])
        status = await options.verb(options)

    assert status == 0
    assert all(row["works"] for row in json.loads(capsys.readouterr().out))
