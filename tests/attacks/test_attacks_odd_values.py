"""Every odd value in every public call: it is taken, or refused in our words; never an error of somebody else's."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from workbench import Agent, Call, Workbench, durable, models, tool
from workbench.agents.policy import Policy, Rule
from workbench.errors import BadInput, WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ODD = (
    None, 0, -1, 1.5, float("nan"), float("inf"), True, 10**400, "", "x\ud800", "\x00", "a" * 3000, b"b", [], {},
    object(), {"a": object()}, ["a", 1], ("x",), dt.datetime(2026, 1, 1),
)  # fmt: skip


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    state = ctx.restored or 0
    yield state
    async for message in ctx:
        match message:
            case Call(_, reply):
                reply(state)
        state += 1
        yield state


async def mail(job: Any) -> None:
    pass


def calls_of(bench: Workbench, clerk: Agent, run: Any, odd: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls of a bench and of what it gives, each with the odd value in one place."""
    handle, queue, topic = bench.lookup(order, id="a"), bench.queue("q"), bench.topic("t")
    yield "run an agent", lambda: bench.run(odd, "Add")
    yield "run a request", lambda: bench.run(clerk, odd)
    for name in ("id", "conversation", "principal", "budget"):
        yield f"run, {name}", lambda name=name: bench.run(clerk, "Add", **{name: odd})
    yield "add", lambda: bench.add(odd)
    yield "runs", lambda: bench.runs[odd]
    yield "runs, in", lambda: odd in bench.runs
    for name in ("status", "agent", "text", "parent", "conversation", "principal"):
        yield f"find, {name}", lambda name=name: bench.runs.find(**{name: odd})
    yield "lookup", lambda: bench.lookup(odd, id="a")
    yield "lookup, argument", lambda: bench.lookup(order, id=odd)
    yield "lookup, another argument", lambda: bench.lookup(order, nope=odd)
    yield "cast", lambda: handle.cast(odd)
    yield "call", lambda: handle.call(odd, id=f"call-{odd!r:.40}")
    yield "call, id", lambda: handle.call(1, id=odd)
    yield "until", lambda: handle.until(odd)
    yield "until of a run", lambda: run.until(odd)
    yield "journal", lambda: bench.journal(odd)
    for name in ("approve", "reject", "dismiss"):
        yield name, lambda name=name: getattr(bench.approvals, name)(odd)
    yield "approve, args", lambda: bench.approvals.approve("none", args=odd)
    yield "reject, reason", lambda: bench.approvals.reject("none", reason=odd)
    yield "answer", lambda: bench.approvals.answer("none", odd)
    yield "queue", lambda: bench.queue(odd)
    yield "put", lambda: queue.put(odd)
    yield "put, key", lambda: queue.put(1, key=odd)
    yield "put, delay", lambda: queue.put(1, delay=odd)
    yield "work", lambda: queue.work(odd)
    for name in ("workers", "lease", "max_attempts", "backoff"):
        yield f"work, {name}", lambda name=name: bench.queue(f"{name} {odd!r:.40}").work(mail, **{name: odd})
    yield "requeue", lambda: queue.requeue(odd)
    yield "discard", lambda: queue.discard(odd)
    yield "topic", lambda: bench.topic(odd)
    yield "publish an event", lambda: topic.publish(odd)
    yield "subscribe", lambda: topic.subscribe(odd)
    yield "subscribe, after", lambda: topic.subscribe(handle, after=odd)
    yield "kill", lambda: bench.kill(odd)
    yield "fork", lambda: run.fork(before=odd)
    yield "to_test", lambda: run.to_test(odd)
    if odd != ["a", 1] and odd != ("x",):
        yield "evaluate", lambda: bench.evaluate(clerk, odd, score=len)
    yield "remember", lambda: bench.notes.remember(odd)
    yield "recall", lambda: bench.notes(odd)
    for name in ("tags", "principal"):
        yield f"remember, {name}", lambda name=name: bench.notes.remember("a note", **{name: odd})
    yield "recall, principal", lambda: bench.notes(principal=odd)
    if odd is not None:
        yield "forget", lambda: bench.notes.forget(odd)
    yield "forget, principal", lambda: bench.notes.forget("none", principal=odd)
    if not isinstance(odd, str):
        yield "export notes", lambda: bench.notes.export(odd)
    yield "conversation", lambda: bench.conversation(odd)
    yield "conversation, principal", lambda: bench.conversation("none", principal=odd)
    yield "conversations, principal", lambda: bench.conversations(principal=odd)
    yield "get a run, principal", lambda: bench.runs.get("first", principal=odd)
    yield "compare", lambda: bench.compare(odd, run)
    yield "compare, principal", lambda: bench.compare(run, run, principal=odd)
    yield "use a policy", lambda: bench.policy.use(odd)
    yield "dry run", lambda: bench.policy.dry_run(odd)
    yield "add a rule", lambda: bench.policy.add(odd)
    yield "revoke a rule", lambda: bench.policy.revoke(odd)
    yield "approve all", lambda: bench.approvals.approve_all(odd)
    yield "reject all", lambda: bench.approvals.reject_all(odd)
    yield "resume", lambda: bench.approvals.resume(odd)
    yield "fork, edit", lambda: run.fork(edit=odd)
    yield "to_test, ignore", lambda: run.to_test(ignore=odd)
    yield "publish doors", lambda: bench.publish(mcp=odd)
    yield "publish, port", lambda: bench.publish(mcp={"ann": "t" * 40}, port=odd if odd is not True else "true")


def makings_of(odd: Any, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What needs no bench."""
    options = ("tools", "model", "instructions", "max_turns", "retries", "output", "handoffs", "stages")
    for name in (*options, "description", "settings", "history"):
        yield f"Agent, {name}", lambda name=name: repr(Agent("clerk", **{name: odd}))
    for name in ("read_only", "idempotent", "expose", "destructive", "expires", "timeout", "description"):
        yield f"tool, {name}", lambda name=name: repr(tool(**{name: odd})(mail))
    yield "Policy", lambda: Policy(odd)
    for name in ("tool", "agent", "args", "when", "read_only", "reason", "expires", "id"):
        yield f"Rule, {name}", lambda name=name: Rule("ask", **{name: odd}).sentence
    yield "Agent", lambda: Agent(odd)
    yield "tool", lambda: tool(odd)
    yield "tool, name", lambda: tool(name=odd)(mail)
    yield "tool, approval", lambda: tool(approval=odd)(mail)
    yield "durable, key", lambda: durable(key=odd)(order.body)
    yield "durable, max_attempts", lambda: durable(key="order:{id}", max_attempts=odd)(order.body)
    yield "scripted", lambda: models.scripted(odd)
    for name in ("log", "delay"):
        yield f"scripted, {name}", lambda name=name: models.scripted("Done.", **{name: odd})
    yield "call", lambda: models.call(odd)
    yield "recorded", lambda: models.recorded(odd, folder / "cassette.json")
    yield "recorded, cassette", lambda: models.recorded("offline", odd)
    yield "openai_compatible", lambda: models.openai_compatible(odd, "small")
    yield "openai_compatible, name", lambda: models.openai_compatible("http://127.0.0.1:9/v1", odd)
    for name in ("api_key", "timeout"):
        yield (
            f"openai_compatible, {name}",
            lambda name=name: models.openai_compatible("http://127.0.0.1:9/v1", "small", **{name: odd}),
        )
    for name in ("lease", "retention", "durability", "clock"):
        yield f"open, {name}", lambda name=name: Workbench.open(":memory:", **{name: odd})
    yield "open, definition", lambda: Workbench.open(":memory:", odd)


async def carried_out(call: Callable[[], Any]) -> None:
    """Make a call, and what it gives to await; raises what is no error of ours."""
    try:
        given = call()
        if inspect.isawaitable(given):
            given = await asyncio.wait_for(given, 20)
    except WorkbenchError:
        return
    if hasattr(given, "close") and inspect.iscoroutinefunction(given.close):
        await given.close()


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{odd!r:.20}".encode("ascii", "replace").decode())
async def test_an_odd_value_is_taken_or_refused_in_our_words(odd: Any, tmp_path: Path) -> None:
    clerk = Agent("clerk", tools=[add], model=models.scripted(*["Done."] * 20))
    others: dict[str, BaseException] = {}
    async with Workbench.open(tmp_path / "agents.db", clerk, order) as bench:
        run = bench.run(clerk, "Add", id="first")
        await run
        for name, call in (*calls_of(bench, clerk, run, odd), *makings_of(odd, tmp_path)):
            try:
                await carried_out(call)
            except Exception as error:
                others[name] = error

    assert others == {}


class Echo:
    """What can be called, in place of a handle."""

    async def call(self, message: Any, *, id: str) -> Any:
        return message


async def branched(ctx: Any, name: Any) -> None:
    async with ctx.branch(name):
        await ctx.step("inside", lambda key: 1)


VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda ctx, odd: ctx.step(odd, lambda key: 1),
    "step, function": lambda ctx, odd: ctx.step("a", odd),
    "step, retry": lambda ctx, odd: ctx.step("a", lambda key: 1, retry=odd),
    "step, timeout": lambda ctx, odd: ctx.step("a", lambda key: 1, timeout=odd),
    "step, returns": lambda ctx, odd: ctx.step("a", lambda key: 1, returns=odd),
    "sleep": lambda ctx, odd: ctx.sleep(odd, 0.001),
    "sleep, seconds": lambda ctx, odd: ctx.sleep("a", odd),
    "sleep_until": lambda ctx, odd: ctx.sleep_until("a", odd),
    "call": lambda ctx, odd: ctx.call(odd, Echo(), 1),
    "call, handle": lambda ctx, odd: ctx.call("a", odd, 1),
    "reply": lambda ctx, odd: ctx.reply(odd, 1),
    "branch": branched,
    "spawn": lambda ctx, odd: ctx.spawn(odd),
}


async def test_a_body_that_gives_an_odd_value_hears_our_words_and_lives(tmp_path: Path) -> None:
    others: dict[str, BaseException] = {}

    @durable(key="odd:{id}")
    async def odd_one(ctx: Any, id: str) -> Any:
        heard = ctx.restored or 0
        yield heard
        async for name, place in ctx:
            try:
                await carried_out(partial(VERBS[name], ctx, ODD[place]))
            except Exception as error:
                if not (name == "step, timeout" and type(error) is TimeoutError):  # which may be no time at all
                    others[f"{name} {ODD[place]!r:.20}"] = error
            heard += 1
            yield heard

    async with Workbench.open(tmp_path / "agents.db", odd_one) as bench:
        handles = [bench.lookup(odd_one, id=name) for name in VERBS]
        for handle, name in zip(handles, VERBS, strict=True):
            for place in range(len(ODD)):
                handle.cast([name, place])
        async with asyncio.timeout(60):
            for handle in handles:
                await handle.until(lambda heard: heard == len(ODD))

    assert others == {}


async def test_a_text_is_not_taken_for_a_list_of_its_letters(tmp_path: Path) -> None:
    clerk = Agent("clerk", model=models.scripted("Done."))
    async with Workbench.open(tmp_path / "agents.db", clerk) as bench:
        with pytest.raises(BadInput, match=r"^cases are given as a list, such as .*, found 'Cancel it'$"):
            await bench.evaluate(clerk, "Cancel it", score=len)

    with pytest.raises(BadInput, match=r"^tools are given as a list, such as \[refund\], found 'refund'$"):
        Agent("clerk", tools="refund")  # type: ignore[arg-type]
