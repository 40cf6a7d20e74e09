"""Bad input: each kind gets an error that names the thing, what was found, and what to do; nothing is half-written."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from dataclasses import dataclass

import pytest

from workbench import Agent, Call, Workbench, durable, models, tool
from workbench.errors import BadInput, CallRefused, NoCode, NotAStore, NotPlain


@dataclass
class Receipt:
    number: int


def untyped():
    return Receipt(1)


def exhausted():
    return next(iter(()))


@durable(key="shop:{id}", max_attempts=1)
async def shop(ctx, id: str):
    yield {"ready": True}
    async for message in ctx:
        match message:
            case {"step": "lock"}:
                await ctx.step("lock", lambda key: {"orders": [1, object()]})
            case {"step": "model"}:
                await ctx.step("model", untyped)
            case {"step": "next"}:
                await ctx.step("next", exhausted)
            case {"step": "task"}:
                await asyncio.create_task(in_a_task(ctx))
            case Call("hello", reply):
                reply("hello")


async def in_a_task(ctx):
    await ctx.step("alone", lambda key: 1)


@pytest.fixture
async def bench(tmp_path):
    async with Workbench.open(tmp_path / "agents.db", shop) as opened:
        yield opened


async def failure_of(bench, message):
    """Why a message to a shop was set aside, and the error on the handle at that moment."""
    process = bench.lookup(shop, id="A")
    await process.until(lambda state: state["ready"])
    number = await process.cast(message)
    while not (letters := await bench.store.dead(process.key)):
        await process.states.change()
    assert [letter.seq for letter in letters] == [number]
    steps = [row for row in bench.journal(process.key) if row["kind"] == "step"]
    assert steps == []  # nothing of the step was written
    return letters[0].error


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            {"step": "lock"},
            "NotPlain: the result of step 'lock'.orders[1] is a object, and only plain data can be stored; "
            "pass dict, list, text, numbers, dates or bytes",
        ),
        (
            {"step": "model"},
            "NotPlain: the result of step 'model' is a Receipt, and nothing declares that type to restore it; "
            "give returns=Receipt to the step, annotate what the function returns, or pass plain data",
        ),
        (
            {"step": "next"},
            "StepMisuse: step 'next' raised StopIteration, which cannot cross an await; "
            "use next(iterator, default) or catch it inside",
        ),
        (
            {"step": "task"},
            "StepMisuse: step 'alone' is asked for in a task that has no branch of its own; "
            'give the task a branch: async with ctx.branch("…")',
        ),
    ],
)
async def test_a_step_that_cannot_be_names_itself_and_the_way_out(bench, message, words):
    assert await failure_of(bench, message) == words


async def test_a_call_that_no_case_takes_fails_its_caller(bench):
    process = bench.lookup(shop, id="A")

    with pytest.raises(CallRefused, match="shop has no case for 'goodbye'; nothing was done"):
        await asyncio.wait_for(process.call("goodbye", id="c1"), 10)

    assert await process.call("hello", id="c2") == "hello"


async def test_a_message_that_is_not_plain_is_refused_when_it_is_handed_over(bench):
    process = bench.lookup(shop, id="A")

    with pytest.raises(NotPlain) as refused:
        process.cast({"orders": [{"when": object()}]})

    assert refused.value.path == "message.orders[0].when"


OPEN = """
import asyncio, sys
from workbench import Workbench
async def main():
    bench = await Workbench.open(sys.argv[1])
    print("open", flush=True)
    sys.stdin.readline()
    await bench.close()
asyncio.run(main())
"""


@pytest.mark.parametrize("round", range(3))
async def test_four_processes_open_a_new_file_at_once(tmp_path, round):
    store = tmp_path / "new.db"
    four = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", OPEN, str(store)), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]
    opened = await asyncio.wait_for(asyncio.gather(*(one.stdout.readline() for one in four)), 60)
    for one in four:
        one.stdin.write(b"\n")
    await asyncio.wait_for(asyncio.gather(*(one.wait() for one in four)), 60)

    assert opened == [b"open\n"] * 4
    assert [one.returncode for one in four] == [0] * 4


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def test_a_tool_argument_of_the_wrong_type_goes_back_to_the_model():
    wrong = models.call("double", number="many")
    agent = Agent("maths", tools=[double], model=models.scripted(wrong, models.call("double", number=4), "It is 8."))

    async with Workbench.open(":memory:", agent) as bench:
        run = bench.run(agent, "Double it")
        assert await run == "It is 8."
        first, second = (row for row in run.view()["rows"] if row["kind"] == "call")

    assert (first["status"], second["status"], second["result"]) == ("retried", "success", 8)
    assert first["error"]["type"] == "BadArguments"
    for part in ("double", "number", "'many'", "integer"):
        assert part in first["error"]["message"]


async def test_an_unknown_tool_is_said_not_to_exist_with_those_that_do():
    agent = Agent("maths", tools=[double], model=models.scripted(models.call("halve", number=4), "I cannot."))

    async with Workbench.open(":memory:", agent) as bench:
        run = bench.run(agent, "Halve it")
        assert await run == "I cannot."
        call = next(row for row in run.view()["rows"] if row["kind"] == "call")

    assert call["status"] == "retried"
    assert call["error"]["message"] == "'halve' does not exist, available: double"


def corrupt(path):
    path.write_bytes(b"this is no database, whatever its name says" * 100)


def foreign(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), corrupt, foreign], ids=["directory", "corrupt", "foreign"])
async def test_a_path_that_is_no_store_is_named_and_left_as_it_was(tmp_path, make):
    path = tmp_path / "agents.db"
    make(path)
    before = path.read_bytes() if path.is_file() else sorted(path.iterdir())

    with pytest.raises(NotAStore) as refused:
        await Workbench.open(path)

    assert refused.value.path == str(path)
    assert str(path) in str(refused.value)
    assert (path.read_bytes() if path.is_file() else sorted(path.iterdir())) == before


async def test_what_a_bench_cannot_take_is_refused_before_anything_is_opened(tmp_path):
    with pytest.raises(BadInput, match="a bench takes agents and definitions of processes, found 5"):
        await Workbench.open(tmp_path / "agents.db", 5)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("request_", ["", "   ", 5, None])
async def test_a_run_needs_a_request_in_words(tmp_path, request_):
    agent = Agent("maths", tools=[double])
    async with Workbench.open(tmp_path / "agents.db", agent) as bench:
        with pytest.raises(BadInput, match="a run needs a request in words, found"):
            bench.run(agent, request_)
        assert len(bench.runs) == 0


async def test_unknown_names_say_what_there_is(bench):
    with pytest.raises(NoCode, match=r"no definition 'shops' here, there are \['shop'\]"):
        bench.lookup("shops", id="A")
    with pytest.raises(NoCode, match=r"no run 'r1' in this store; bench.runs.find\(\) lists them"):
        bench.runs["r1"]
    with pytest.raises(BadInput, match=r"shop\(ctx, id: 'str'\) does not take \{'number': 1\}"):
        bench.lookup(shop, number=1)


@pytest.mark.parametrize("where", [5, None, b"agents.db", "", "a\0b", "\ud800.db"], ids=repr)
def test_what_is_no_place_is_refused_before_anything_is_opened(where):
    with pytest.raises(BadInput, match="a bench is opened on a file's path or ':memory:', found"):
        Workbench.open(where)
