"""The public calls, as they are promised: each block below is copied to the letter, and runs in a real kernel."""

from __future__ import annotations

import json

import nbformat
import pytest

from workbench.testing.notebooks import Notebook

CELL_1 = '''
from typing import Annotated
from pydantic import BaseModel, Field
from workbench import Agent, ToolContext, Workbench, tool

OrderId = Annotated[str, Field(pattern=r"^A-\\d{4}$", description="The order number, e.g. A-1001")]

class Refund(BaseModel):
    refund_id: str
    emailed: bool

@tool(read_only=True)
def lookup_order(order_id: OrderId) -> dict:
    """Look an order up by its number."""
    return {"id": order_id, "item": "Trail backpack, 28 L", "status": "shipped"}

@tool(idempotent=True, expose=False)        # agents use it; doors never list or call it
async def refund_order(order_id: OrderId, ctx: ToolContext) -> Refund:
    """Refund an order and email the customer a receipt."""
    refund_id = await ctx.step("refund", lambda key: payments.refund(order_id, idempotency_key=key))
    ctx.progress("refund done, sending the receipt")
    await ctx.step("email", lambda key: mail.send(refund_id))
    return Refund(refund_id=refund_id, emailed=True)

@tool(approval=True)                       # or approval=lambda args: args["amount"] > 100
def cancel_order(order_id: OrderId, reason: str = "") -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"

support = Agent("support", tools=[lookup_order, refund_order, cancel_order],
                instructions="You help customers with their orders.", model="offline")
'''

CELL_2 = 'bench = await Workbench.open("agents.db", support)'

CELL_3 = """
run = bench.run(support, "Cancel order A-1002")
run
"""

CELL_4 = """
request = await run.approval()
await bench.approvals.approve(request.id)
answer = await run
"""

ANY_TIME = """
await run.kill()
await run.recover()
await run.cancel()
bench.runs[run.id]
bench
bench.approvals
bench.runs.find(status="waiting", agent="support", text="A-1002")
bench.journal(run.id)
"""

PROCESS = """
from workbench import Call, durable, process

@durable(key="order:{id}", version=0, max_attempts=3)
async def order(ctx, id: str):
    state = ctx.restored or {"status": "open", "total": 0}
    yield state                                            # publish
    async for message in ctx:                              # asking for the next message commits the last one
        match message:
            case {"type": "add", "price": price}:
                state = state | {"total": state["total"] + price}
            case Call({"type": "checkout"}, reply) if state["status"] == "open":
                receipt = await ctx.step("charge", lambda key: payments.charge(state["total"], key=key))
                state = state | {"status": "charged"}
                reply(receipt)                             # released only after the commit: reply and finish
                ctx.cast({"type": "cool off"})
            case Call({"type": "checkout"}, reply):
                reply({"refused": state["status"]})
            case {"type": "cool off"}:
                await ctx.sleep("cool-off", 3600)          # the deadline is saved, not the timer
                state = state | {"status": "shipped"}
        yield state

bench.add(order)                                           # re-running the cell replaces the definition and respawns live instances
a1 = bench.lookup(order, id="A-1001")                      # get or spawn; bench.lookup("order", id="A-1001") too
await a1.cast({"type": "add", "price": 30})                # a cast posts at once; awaiting its receipt = it is in the journal
receipt = await a1.call({"type": "checkout"}, id="checkout-A-1001")
a1.state, a1.status, a1.error                              # latest published value; starting | running | restarting | done | crashed | disposed
async for state in a1: ...                                 # newest wins
await a1.until(lambda s: s["status"] == "charged")
await a1.dispose()
a1                                                         # an inspector widget with Kill and Recover
"""  # noqa: E501 - to the letter

STAND_INS = """
import asyncio
import json

class Payments:
    def refund(self, order_id, idempotency_key):
        return self.note(refund=order_id, key=idempotency_key)

    def charge(self, total, key):
        return self.note(charge=total, key=key)

    def note(self, **line):
        with open("effects.log", "a") as log:
            log.write(json.dumps(line) + "\\n")
        return f"done {line['key']}"

class Mail:
    def send(self, refund_id):
        with open("effects.log", "a") as log:
            log.write(json.dumps({"mail": refund_id}) + "\\n")

payments, mail = Payments(), Mail()
"""

ENDS_THE_ITERATION = """
async def dispose_once_answered():
    while not any(entry.kind == "answer" for entry in bench.store.history_now("order:A-1001")):
        await asyncio.sleep(0.01)
    await bench.lookup("order", id="A-1001").dispose()

ending = asyncio.create_task(dispose_once_answered())
"""


def line(text):
    """An output on one line, however the notebook broke it."""
    return " ".join(text.split())


def book(*cells):
    """A notebook of tagged cells."""
    made = [nbformat.v4.new_code_cell(source.strip(), metadata={"tags": [tag]}) for tag, source in cells]
    return nbformat.v4.new_notebook(cells=made)


@pytest.fixture
def effects(tmp_path):
    """What the stand-ins did."""
    return lambda: [json.loads(line) for line in (tmp_path / "effects.log").read_text().splitlines()]


async def test_the_first_ten_minutes_run_as_they_are_written(tmp_path):
    notebook = book(
        ("stand-ins", STAND_INS),
        ("1", CELL_1),
        ("2", CELL_2),
        ("3", CELL_3),
        ("4", CELL_4),
        ("answer", "answer, run.status, run.alive, request.tool, request.args"),
        ("again", 'run = bench.run(support, "Cancel order A-1002")\nawait run.approval()'),
        ("any time", ANY_TIME),
        ("ended", "run.status, len(bench.approvals.pending()), len(bench.runs)"),
    )
    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_until("3")
        await nb.until(lambda: nb.widget("run")["status"] == "waiting", "the run to ask")
        assert await nb.run_all() == "finished"

        expected = "('A-1002 cancelled.', 'completed', True, 'cancel_order', {'order_id': 'A-1002'})"
        assert line(nb.output("answer")) == expected
        assert nb.widget("3")["status"] == "completed"
        assert "activation" in nb.output("any time")
        assert nb.output("ended") == "('cancelled', 0, 2)"
        assert nb.errors == []


async def test_a_refund_pays_and_mails_once(tmp_path, effects):
    ask = 'run = bench.run(support, "Refund order A-1001", id="refund-1")\nanswer = await run\nanswer'
    notebook = book(("stand-ins", STAND_INS), ("1", CELL_1), ("2", CELL_2), ("refund", ask), ("again", ask))
    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()

        key = "run:refund-1#1#t1.0#refund#0"
        assert nb.output("refund") == nb.output("again")
        assert f"done {key}" in nb.output("refund")
    assert effects() == [{"refund": "A-1001", "key": key}, {"mail": f"done {key}"}]


async def test_the_order_process_runs_as_it_is_written(tmp_path, effects):
    notebook = book(
        ("stand-ins", STAND_INS),
        ("1", CELL_1),
        ("2", CELL_2),
        ("ends the iteration", ENDS_THE_ITERATION),
        ("process", PROCESS),
        ("after", "await ending\nreceipt, a1.state, a1.status, a1.error"),
        ("again", 'a1 = bench.lookup("order", id="A-1001")\nawait a1.call({"type": "checkout"}, id="checkout-A-1001")'),
    )
    async with Notebook(notebook, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        key = "order:A-1001#2##charge#0"
        after = f"('done {key}', {{'status': 'charged', 'total': 30}}, 'disposed', None)"
        assert line(nb.output("after")) == after
        assert nb.widget("process")["kind"] == "process"
        assert nb.output("again") == f"'done {key}'"
        assert nb.errors == []
    assert effects() == [{"charge": 30, "key": key}]
