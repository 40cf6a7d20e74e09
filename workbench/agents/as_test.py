"""Tests of runs: a run as a Python test that plays its model turns again and asserts what its calls came to.

- The models are scripted with the turns of the journal, and people with its decisions; the tools run as they are now.
  So the test is red when a tool behaves in another way, and green as it is written.
- What cannot happen again (a call that a kill interrupted, one that was denied without a person) is not asserted.
- What a schema marks as secret, in arguments that were proposed, edited or run, and in answers, is written as `SECRET`
  wherever it stands.

Source: AGENTS 4 (12). Knows nothing of pytest; what a written test imports is in `workbench.testing`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

from workbench.agents.as_source import imports_of, source
from workbench.agents.durable_agent import DurableAgent
from workbench.agents.edits import EDITED
from workbench.agents.questions import INPUT_REQUIRED
from workbench.agents.secret_texts import RAW, secret_texts, secret_texts_of_raw, texts_at
from workbench.errors import BadInput
from workbench.given import named, several
from workbench.models.script import ScriptedCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.agents.agent import Agent
    from workbench.agents.run import Run
    from workbench.agents.tools import Tool
    from workbench.agents.views import CallRow
    from workbench.models.messages import Call
    from workbench.models.model import Turn

__all__ = ["SECRET", "call_outcomes", "source_of_test", "write_test"]

SECRET = "a secret"
ENDS = ("completed", "failed")
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_VERBS = {"approved": "approve", "edited": "edit", "rejected": "reject", "answered": "answer"}


def call_outcomes(run: Run) -> list[dict[str, Any]]:
    """What each call of a run came to, in order: `call`, `tool`, `args`, `outcome`, and its `result` or `error`."""
    return [_outcome(row) for row in run.view()["rows"] if row["kind"] == "call"]


def write_test(text: str, path: object) -> None:
    """Write a test to a new file. Raises: BadInput when it is there already, or cannot be written."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise BadInput(f"a test is written to a path such as 'test_refund.py', found {path!r}")
    try:
        with Path(path).expanduser().open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(f"{str(path)!r} is there already; a test overwrites nothing, name another file") from None
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written ({error.strerror}); name another file") from error


def source_of_test(
    run: Run,
    agent: Agent,
    place: str | None,
    ignore: Iterable[str],
    *,
    importable: bool,
    agents: Mapping[str, Agent],
) -> str:
    """The text of a test of `run`, of one of the `agents` that are known here.

    `place` is where the test imports the agent from, `module:name`; left out, it is looked for, and with `importable`
    it must be found. `ignore` are calls whose result is another one each time. Raises: BadInput.
    """
    if run.status not in ENDS:
        raise BadInput(f"run {run.id!r} is {run.status}; a test is made of one that has {' or '.join(ENDS)}")
    if isinstance(agent, DurableAgent):
        raise BadInput(f"agent {agent.name!r} is run by its own library; script its model there, and test it with that")
    given = [ignore] if isinstance(ignore, str) else several("calls to ignore", ignore, '["t1.0"]')
    ignored = {named("a call to ignore", one) for one in given}
    calls = call_outcomes(run)
    if strange := ignored - {call["call"] for call in calls}:
        raise BadInput(f"run {run.id!r} has no call {min(strange)!r} to ignore; it has {[c['call'] for c in calls]}")
    module, name = _where(agent, place, importable=importable)
    secrets = _Secrets(run, agents)
    scripts: dict[str, dict[str, list[Any]]] = {}
    decisions: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    _gather(run, "", secrets, scripts, decisions)
    edited = {row["id"] for row in run.view()["rows"] if row["kind"] == "call" and row["note"] == EDITED}
    expected = [_expected(call, ignored, edited) for call in calls]
    parts = {"SCRIPTS": scripts, "DECISIONS": decisions, "CALLS": [secrets.masked(call) for call in expected]}
    return _text(run, module, name, parts, secrets)


def _where(agent: Agent, place: str | None, *, importable: bool) -> tuple[str | None, str]:
    """Module and name of the agent; no module for one that lives in a notebook."""
    if place is not None:
        if type(place) is not str or not _PLACE.fullmatch(place):
            raise BadInput(f"agent= says where a test imports it, as 'module:name', found {place!r}")
        module, _, name = place.partition(":")
        return module, name
    for module, there in list(sys.modules.items()):
        if module not in ("__main__", "builtins") and not module.startswith("workbench."):
            for name, value in list(getattr(there, "__dict__", {}).items()):
                if value is agent:
                    return module, name
    if importable:
        raise BadInput(
            f"a test file cannot import the agent {agent.name!r}, which is in no module; define it in one, or say "
            "where it will be: agent='module:name'"
        )
    main = getattr(sys.modules.get("__main__"), "__dict__", {})
    return None, next((name for name, value in main.items() if value is agent and not name.startswith("_")), "agent")


def _gather(
    run: Run,
    inside: str,
    secrets: _Secrets,
    scripts: dict[str, dict[str, list[Any]]],
    decisions: dict[str, list[tuple[str, dict[str, Any]]]],
) -> None:
    """The scripts of a run and of those it asked: by agent, then by what the agent was asked; and the decisions.

    `inside` is where the run was asked: nothing, or the calls that lead to it, each with a slash.
    """
    facts = run.facts()
    turns, asked = facts.turns(), str(facts.message.get("text", ""))
    for (number, _, turn), holder in zip(turns, facts.holders(), strict=False):
        script = scripts.setdefault(holder, {}).setdefault(secrets.masked(asked), [])
        script.append(secrets.masked(_said(turn)))
        handed = facts.handed(number)
        asked = handed["message"] if handed else asked
    for request in sorted(facts.requests, key=lambda request: request.asked_at):
        decision = request.decision or {}
        verb = _VERBS.get(request.status, "dismiss")
        given = {name: decision[name] for name in ("args", "reason", "value") if name in decision}
        decisions.setdefault(inside + request.body["call"], []).append((verb, secrets.masked(given)))
    for child in run.asked:
        _gather(child, f"{inside}{child.id.removeprefix(f'{child.parent}/')}/", secrets, scripts, decisions)


def _said(turn: Turn) -> Any:
    parts = [*([turn.text] if turn.text.strip() else []), *(_scripted(call) for call in turn.calls)]
    return parts[0] if len(parts) == 1 else parts


def _scripted(call: Call) -> ScriptedCall:
    return ScriptedCall(call.tool, {}, call.raw) if call.args is None else ScriptedCall(call.tool, call.args)


def _outcome(row: CallRow) -> dict[str, Any]:
    error = row["error"]
    made = {"call": row["id"], "tool": row["tool"], "args": row["args"], "outcome": row["status"]}
    return {**made, "error": f"{error['type']}: {error['message']}"} if error else {**made, "result": row["result"]}


def _expected(call: dict[str, Any], ignored: set[str], edited: set[str]) -> dict[str, Any]:
    """What a test expects of a call; what is left open equals anything, as does what a person gave in a fork."""
    if call["call"] in edited:
        return {**{name: call[name] for name in ("call", "tool", "args")}, "outcome": ANY, "result": ANY}
    if call["outcome"] == "interrupted" or call["call"] in ignored:
        last = "error" if "error" in call else "result"
        how = ANY if call["outcome"] == "interrupted" else call["outcome"]
        return {**call, "outcome": how, last: ANY}
    return call


class _Secrets:
    """What must not be written: what is secret in the calls, edits and answers of a run and of those it asked."""

    def __init__(self, run: Run, agents: Mapping[str, Agent]) -> None:
        self._agents = agents
        self._texts: set[str] = set()
        self._collect(run)
        self.found = bool(self._texts)
        self._texts |= {json.dumps(text, ensure_ascii=how)[1:-1] for text in self._texts for how in (True, False)}

    def _collect(self, run: Run) -> None:
        facts = run.facts()
        holders = facts.holders()
        for (_, _, turn), holder in zip(facts.turns(), holders, strict=False):
            for call in turn.calls:
                self._texts.update(self._proposed(holder, call))
        for request in facts.requests:
            schema, decision = request.body["schema"], request.decision or {}
            given = [request.body["args"], decision.get("args")]
            if request.body.get("reason") == INPUT_REQUIRED:
                given.append(decision.get("value"))
            self._texts.update(text for value in given for text in _secrets_in(schema, value))
        for row in run.view()["rows"]:
            if row["kind"] != "call":
                continue
            is_read = RAW in row["args"] and self._tool(holders[row["turn"] - 1], row["tool"]) is not None
            if not is_read:  # what was marked when it ran, whatever its tool marks now
                self._texts.update(texts_at(row["args"], row.get("secret", [])))
        for child in run.asked:
            self._collect(child)

    def _proposed(self, holder: str, call: Call) -> Iterable[str]:
        tool = self._tool(holder, call.tool)
        if tool is None:
            return ()
        if call.args is None:
            return secret_texts_of_raw(tool.parameters, call.raw)
        return _secrets_in(tool.parameters, call.args)

    def _tool(self, holder: str, name: str) -> Tool | None:
        agent = self._agents.get(holder)
        return None if agent is None else agent.tools.get(name)

    def masked(self, value: Any) -> Any:
        """A value without the secrets, wherever they stand in it."""
        match value:
            case str():
                for text in sorted(self._texts, key=len, reverse=True):
                    value = value.replace(text, SECRET)
                return value
            case ScriptedCall():
                raw = None if value.raw is None else self.masked(value.raw)
                return ScriptedCall(value.tool, self.masked(value.args), raw)
            case dict():
                return {key: self.masked(item) for key, item in value.items()}
            case list() | tuple() | set():
                return type(value)(self.masked(item) for item in value)
            case _ if value is not ANY and str(value) in self._texts:
                return SECRET
            case _:
                return value


def _secrets_in(schema: Any, value: Any) -> Iterator[str]:
    """What is secret in a value, by its schema; what a tool takes in another shape than that, by its name alone."""
    yield from secret_texts(schema, value)
    yield from secret_texts_of_raw(schema, json.dumps(value, default=str))


def _text(run: Run, module: str | None, name: str, parts: Mapping[str, Any], secrets: _Secrets) -> str:
    state, request = run.state, secrets.masked(run.request)
    ends = {"status": state["status"], "output": secrets.masked(state["output"])}
    imports = sorted({"import asyncio"}.union(*(imports_of(value) for value in (*parts.values(), ends))))
    home = f"from {module} import {name}\n" if module is not None else f"# {name} is the agent of this notebook\n"
    note = "\n\nSecret arguments stand as a text in their place." if secrets.found else ""
    failed = state["error"]["type"] if state["error"] is not None else None
    end = [f"        assert run.status == {source(ends['status'])}"]
    if failed is not None:
        end.append(f'        assert run.state["error"]["type"] == {source(failed)}')
    else:
        end.append(f"        assert run.output == {source(ends['output'], 8)}")
    constants = "\n".join(f"{named} = {source(value)}" for named, value in parts.items())
    lines = "\n".join(line for line in imports if line.startswith("import "))
    froms = "".join(f"{line}\n" for line in imports if line.startswith("from "))
    ours = "Workbench, models" if "models." in constants else "Workbench"
    title = f"What run {_clean(run.id)} of agent {_clean(run.agent)} did, as a test; written from its journal."
    return f'''"""{title}{note}"""

{lines}
{froms}
{home}
from workbench import {ours}
from workbench.testing import call_outcomes, decided, scripted_team

{constants}


async def play() -> None:
    async with Workbench.open(":memory:", *scripted_team({name}, SCRIPTS)) as bench:
        run = bench.run({source(run.agent)}, {source(request)}, id={source(run.id.partition("/")[0])})
        await decided(bench, run, DECISIONS)

        assert call_outcomes(run) == CALLS
{chr(10).join(end)}


def test_{_slug(request)}() -> None:
    asyncio.run(play())
'''


def _clean(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)[1:-1].replace('"', "'")


def _slug(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return words[:48].rstrip("_") or "the_run"
