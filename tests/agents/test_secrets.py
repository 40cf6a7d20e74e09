"""Secrets: what a schema marks, at any depth, is shown to nobody; who runs the call gets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from workbench import Agent, Policy, Rule, Workbench, models, tool
from workbench.agents.compare import compare
from workbench.agents.secret_texts import masked, secret_places
from workbench.models.script import call, raw_call
from workbench.widgets import static_twin

KEPT = ("hunter2", "token-3", "pin-4")


class Login(BaseModel):
    user: str
    password: str = Field(json_schema_extra={"format": "password"})


class Doors(BaseModel):
    logins: list[Login]
    token: SecretStr | None = None


ARGS = {
    "doors": {"logins": [{"user": "ana", "password": "hunter2"}, {"user": "bo", "password": ""}], "token": "token-3"},
    "pin": "pin-4",
    "note": "open",
}
opened: list[dict[str, Any]] = []


@tool(approval=True)
def unlock(doors: Doors, pin: SecretStr, note: str) -> str:
    """Unlock the doors."""
    opened.append({"password": doors.logins[0].password, "pin": pin.get_secret_value()})
    return "unlocked"


async def test_a_secret_at_any_depth_is_shown_to_nobody() -> None:
    opened.clear()
    clerk = Agent("clerk", tools=[unlock], model=models.scripted(call("unlock", **ARGS), "Done."))
    async with Workbench.open(":memory:", clerk) as bench:
        run = bench.run(clerk, "Unlock", id="a")
        await run.until(lambda state: state["status"] == "waiting")
        (asked,) = bench.approvals.pending()
        inbox, waiting = bench.approvals.view(), run.view()
        shown = [asked.sentence, repr(asked), *(static_twin.html(view) for view in (inbox, waiting))]

        await bench.approvals.approve(asked.id)
        await run
        done = run.view()
        dry = await bench.policy.dry_run(Policy([Rule("deny", "unlock")]))
        shown += [
            static_twin.html(done),
            static_twin.text(done),
            str(compare(run, run).view()),
            repr(dry),
            str(list(dry)),
        ]

    assert [secret for secret in KEPT for text in shown if secret in text] == []
    assert all("ana" in text for text in shown[:2])
    places = ["/doors/logins/0/password", "/doors/logins/1/password", "/doors/token", "/pin"]
    row = next(row for row in done["rows"] if row["kind"] == "call")
    assert (asked.secret, row["secret"]) == (places, places)
    assert opened == [{"password": "hunter2", "pin": "pin-4"}]


BAD = {"pin": ["token-3"], "note": "open", "doors": {"logins": [{"user": "ana", "password": "hunter2"}]}}


async def test_a_call_that_is_refused_before_it_begins_shows_no_secret_here_or_in_a_copy(tmp_path: Path) -> None:
    raw = raw_call("unlock", json.dumps(ARGS)[:-1])
    clerk = Agent(
        "clerk", tools=[unlock], model=models.scripted([call("unlock", **ARGS), call("unlock", **BAD), raw], "Done.")
    )
    async with Workbench.open(":memory:", clerk, policy=Policy([Rule("deny", "unlock")])) as bench:
        run = bench.run(clerk, "Unlock", id="a")
        await run
        views = [run.view()]
        await bench.export("a", tmp_path / "a.jsonl")
    async with Workbench.open(":memory:") as other:  # where nobody knows the tool
        await other.import_(tmp_path / "a.jsonl")
        views.append(other.runs["a"].view())
    rows = [row for view in views for row in view["rows"] if row["kind"] == "call"]

    assert [row["status"] for row in rows] == ["denied", "retried", "retried"] * 2
    assert [secret for secret in KEPT for text in map(static_twin.html, views) if secret in text] == []
    assert [secret for secret in KEPT if secret in str([row["error"] for row in rows])] == []


async def test_what_a_person_changed_is_told_without_secrets() -> None:
    clerk = Agent("clerk", tools=[unlock], model=models.scripted(call("unlock", **ARGS), "Done."))
    async with Workbench.open(":memory:", clerk) as bench:
        run = bench.run(clerk, "Unlock", id="a")
        asked = await run.approval()
        await bench.approvals.approve(asked.id, args={**ARGS, "pin": "pin-5"})
        await run
        row = next(row for row in run.view()["rows"] if row["kind"] == "call")

    assert [secret for secret in (*KEPT, "pin-5") if secret in row["note"]] == []
    assert opened[-1]["pin"] == "pin-5"


PASSWORD = {"type": "string", "format": "password"}


@pytest.mark.parametrize(
    ("schema", "value", "places"),
    [
        ({"properties": {"a/b~c": PASSWORD}}, {"a/b~c": "x"}, ["/a~1b~0c"]),
        ({"additionalProperties": {"writeOnly": True}}, {"any": {"deep": "x"}}, ["/any"]),
        ({"properties": {"pair": {"prefixItems": [{}, PASSWORD]}}}, {"pair": ["ana", "x"]}, ["/pair/1"]),
        ({"properties": {"some": {"items": PASSWORD}}}, {"some": {"x"}}, ["/some"]),
        (
            {"$defs": {"T": {"properties": {"pin": PASSWORD, "next": {"$ref": "#/$defs/T"}}}}, "$ref": "#/$defs/T"},
            {"next": {"next": {"pin": "x"}}},
            ["/next/next/pin"],
        ),
        (
            {"properties": {"pin": PASSWORD, "next": {"$ref": "#"}}},
            {"next": {"next": {"pin": "x"}}},
            ["/next/next/pin"],
        ),
        ({"patternProperties": {"^A-": PASSWORD}}, {"A-1": "x"}, ["/A-1"]),
        ({"writeOnly": True}, {"a/b": "x", "c": ["x"]}, ["/a~1b", "/c"]),
    ],
    ids=["escaped", "whole", "by position", "set", "circle", "circle to the root", "by pattern", "all"],
)
def test_a_mask_stands_where_the_schema_says(schema: dict[str, Any], value: dict[str, Any], places: list[str]) -> None:
    assert secret_places(schema, value) == places
    assert "'x'" not in str(masked(value, places, "•"))


def test_a_place_of_an_older_journal_is_the_name_of_an_argument() -> None:
    assert (
        json.dumps(masked({"pin": "x", "id": 1}, ["pin", "gone"], "•"), ensure_ascii=False) == '{"pin": "•", "id": 1}'
    )
