"""The command line decides, with the verbs of the inbox, after the kernel was killed and with no notebook open."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from workbench import Agent, Workbench, tool
from workbench.cli import main
from workbench.models.script import call, scripted

ran: list[str] = []


@tool(approval=True)
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    ran.append(order_id)
    return f"{order_id} cancelled"


def asking(count: int) -> Agent:
    ran.clear()
    turn = [call("cancel_order", order_id=f"A-{number}") for number in range(count)]
    return Agent("support", tools=[cancel_order], model=scripted(turn, "Done."))


class Desk:
    """A run that asks about `count` orders, whose kernel is gone, and the command line on its store."""

    def __init__(self, store: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
        self.store, self.count, self.capsys = store, count, capsys

    async def __aenter__(self) -> Desk:
        self.agent = asking(self.count)
        async with Workbench.open(self.store, self.agent) as bench:
            run = bench.run(self.agent, "Cancel them", id="r1")
            await bench.approvals.until(lambda state: len(state) == self.count)
            self.ids = [one.id for one in sorted(bench.approvals.pending(), key=lambda one: one.call)]
            await run.kill()
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def ends(self) -> str:
        """What the run says in another kernel, once all is decided."""
        async with Workbench.open(self.store, self.agent) as bench:
            return await asyncio.wait_for(bench.runs["r1"], 10)

    async def says(self, *words: str, status: int = 0) -> str:
        """What a command prints."""
        ended = await asyncio.to_thread(main, [*words, "--store", str(self.store)])
        out, err = self.capsys.readouterr()
        assert ended == status, err
        return out or err

    async def gives(self, *words: str, status: int = 0) -> Any:
        return json.loads(await self.says(*words, "--json", status=status))


async def test_case_13_and_26_what_waits_is_listed_as_a_table_a_record_and_an_interrupt(tmp_path, capsys):
    async with Desk(tmp_path / "a.db", 1, capsys) as desk:
        assert "cancel_order" in await desk.says("approvals")
        (view,) = await desk.gives("approvals")
        (record,) = json.loads(await desk.says("approvals", "--records"))
        (asked,) = await desk.gives("approvals", "--ag-ui")

        assert (view["id"], record["id"], asked["id"]) == (desk.ids[0],) * 3
        assert (record["status"], asked["reason"]) == ("pending", "tool_call")
        await desk.says("dismiss", desk.ids[0])
        assert await desk.ends() == "Done."
        assert await desk.gives("approvals") == []
        assert [one["status"] for one in await desk.gives("approvals", "--all")] == ["dismissed"]


async def test_several_are_decided_at_once_with_why_others_are_not(tmp_path, capsys):
    async with Desk(tmp_path / "a.db", 3, capsys) as desk:
        first, second, third = desk.ids
        told = await desk.gives("approve", first, second, "ap-none", "--by", "ana", status=1)
        assert [one["decided_by"] for one in told["decided"]] == ["ana", "ana"]
        assert list(told["undecided"]) == ["ap-none"]
        assert "rejected: cancel_order of r1" in await desk.says("reject", "--all", "--reason", "no")

        assert await desk.ends() == "Done."
        assert sorted(ran) == ["A-0", "A-1"]
        assert {one["id"]: one["reason"] for one in await desk.gives("approvals", "--all")}[third] == "no"


async def test_arguments_are_edited_and_a_call_is_answered(tmp_path, capsys):
    async with Desk(tmp_path / "a.db", 2, capsys) as desk:
        first, second = desk.ids
        said = await desk.says("approve", first, "--args", '{"order_id": 7}', status=1)
        assert "order_id is 7, expected a value of type string" in said
        assert "--args is JSON" in await desk.says("approve", first, "--args", "{", status=1)
        assert "others than those that were shown" in await desk.says("approve", first, "--digest", "x", status=1)
        edited = await desk.gives("approve", first, "--args", '{"order_id": "B-1"}')
        answered = await desk.gives("answer", second, "gone already")

        assert (edited["status"], edited["effective_args"]) == ("edited", {"order_id": "B-1"})
        assert (answered["status"], answered["value"], answered["via"]) == ("answered", "gone already", "cli")
        assert await desk.ends() == "Done."
        assert ran == ["B-1"]


async def test_always_writes_a_rule_that_is_listed_and_revoked(tmp_path, capsys):
    async with Desk(tmp_path / "a.db", 3, capsys) as desk:
        told = await desk.gives("always", desk.ids[1])
        assert await desk.ends() == "Done."
        assert (len(ran), len(told["resolved"])) == (3, 2)
        assert {one["decided_by"] for one in told["resolved"]} == {"rule"}
        (rule,) = await desk.gives("rules")
        assert rule["sentence"] == "approve cancel_order from support, in this notebook"
        assert rule["id"] in await desk.says("rules")
        assert await desk.says("revoke", rule["id"]) == f"{rule['id']} revoked\n"
        assert await desk.gives("rules") == []


async def test_a_dry_run_reads_a_policy_from_a_file(tmp_path, capsys):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\naction = "deny"\nargs.order_id = "A-1"\nid = "one"\n')
    async with Desk(tmp_path / "a.db", 2, capsys) as desk:
        await desk.says("approve", "--all")
        assert await desk.ends() == "Done."
        (row,) = await desk.gives("dry-run", str(policy))
        assert (row["run"], row["args"], row["verdict"], row["rule"]) == ("r1", {"order_id": "A-1"}, "deny", "one")
        assert await desk.gives("dry-run") == []


async def test_what_is_meant_must_be_named(tmp_path, capsys):
    async with Desk(tmp_path / "a.db", 1, capsys) as desk:
        assert "name the ids of approvals, or --all" in await desk.says("approve", status=1)
        assert "name the ids of approvals, or --all" in await desk.says("reject", "x", "--all", status=1)
        assert "are about one call" in await desk.says("approve", "--all", "--args", "{}", status=1)
        assert await desk.gives("approvals")
