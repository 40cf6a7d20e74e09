"""A process as a tool: looked up or held, asked once whatever happens, its state to be seen, its end an error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, calls, clerk, ears, until
from pydantic import BaseModel

from workbench import Call, Context, ToolContext, durable, process, tool
from workbench.agents.tools import as_tool
from workbench.errors import BadInput
from workbench.models.script import call
from workbench.process.handle import Handle


class Query(BaseModel):
    text: str
    limit: int = 3


@process
async def search(ctx):
    """Search the shelves."""
    count = 0
    yield {"calls": count}
    async for message in ctx:
        match message:
            case Call({"type": "search", "query": query}, reply):
                count += 1
                reply([f"{query} {count}"])
        yield {"calls": count}


@durable(key="shelf:{name}")
async def shelf(ctx, name: str, floor: int = 1):
    """Look on a shelf."""
    state = ctx.restored or {"asked": []}
    yield state
    async for message in ctx:
        match message:
            case Call({"book": book}, reply):
                state = {"asked": [*state["asked"], book]}
                reply(f"{book} is on {name}")
        yield state


@process
async def typed(ctx: Context[Query, dict[str, Any]]):
    """Take typed queries."""
    yield {}
    async for message in ctx:
        match message:
            case Call(Query(text=text, limit=limit), reply):
                reply(f"{text} {limit}")


SEARCH = {"type": "search", "query": str}


async def test_a_definition_is_looked_up_and_counts_its_calls(room: House) -> None:
    agent = clerk(
        [call("search", query="a"), call("search", query="b")], "Found.", tools=[as_tool(search, message=SEARCH)]
    )
    bench = await room.open(agent)
    run = bench.run(agent, "Search")

    assert await run == "Found."

    assert sorted(row["result"][0] for row in calls(run)) == ["a 1", "b 2"]
    assert bench.lookup(search).state == {"calls": 2}
    assert agent.tools["search"].description == "Search the shelves."
    assert list(agent.tools["search"].parameters["properties"]) == ["query"]


@pytest.mark.parametrize(
    ("given", "message", "args", "sent", "parameters"),
    [
        (typed, None, {}, {"text": "a"}, ["text", "limit"]),
        (search, lambda query: {"type": "search", "query": query}, {}, {"query": "a"}, ["query"]),
        (search, None, {}, {"message": {"type": "search", "query": "a"}}, ["message"]),
        (shelf, {"book": str}, {"name": "A"}, {"book": "a"}, ["floor", "book"]),
        (shelf, {"book": str}, {}, {"name": "A", "floor": 2, "book": "a"}, ["name", "floor", "book"]),
    ],
)
async def test_what_the_model_says_becomes_the_message(
    room: House, given: Any, message: Any, args: dict[str, Any], sent: dict[str, Any], parameters: list[str]
) -> None:
    made = as_tool(given, message=message, args=args)
    agent = clerk(call(made.name, **sent), "Done.", tools=[made])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    await run

    (row,) = calls(run)
    assert (row["status"], list(made.parameters["properties"])) == ("success", parameters)
    assert row["result"] == {"typed": "a 3", "search": ["a 1"], "shelf": "a is on A"}[given.name]


async def test_newer_code_of_a_process_is_not_undone_by_a_tool_of_the_older(room: House) -> None:
    def library(version: int) -> Any:
        @process(name="library")
        async def body(ctx):
            yield version
            async for message in ctx:
                match message:
                    case Call(_, reply):
                        reply(version)

        return body

    agent = clerk(call("library", message=1), call("library", message=2), "Done.", tools=[library(1)])
    bench = await room.open(agent)
    bench.add(library(2))
    run = bench.run(agent, "Ask")
    await run

    assert [row["result"] for row in calls(run)] == [2, 2]


async def test_what_a_process_prints_is_not_the_calls(room: House, capsys: pytest.CaptureFixture[str]) -> None:
    @process
    async def talker(ctx):
        yield 0
        async for message in ctx:
            match message:
                case Call(text, reply):
                    print("process", text)
                    reply(text)

    @tool
    async def talk(ctx: ToolContext) -> None:
        print("tool")
        await ctx.call("talk", ctx.lookup(talker), "b")

    agent = clerk(call("talker", message="a"), call("talk"), "Done.", tools=[talker, talk])
    bench = await room.open(agent)
    run = bench.run(agent, "Talk")
    await run

    assert [row.get("stdout") for row in calls(run)] == [None, "tool\n"]
    assert capsys.readouterr().out == "process a\nprocess b\n"


async def test_a_definition_alone_is_a_tool(room: House) -> None:
    agent = clerk(call("typed", text="x", limit=1), "Done.", tools=[typed])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    await run

    assert calls(run)[0]["result"] == "x 1"


async def test_a_handle_is_called_as_it_is(room: House) -> None:
    agent = clerk("Hello.")
    bench = await room.open(agent, shelf)
    handle = bench.lookup(shelf, name="A")
    agent = clerk(call("look"), "Done.", tools=[as_tool(handle, message={"book": "tales"}, name="look")])
    run = bench.run(agent, "Look")
    await run

    assert calls(run)[0]["result"] == "tales is on A"
    assert await handle.until(lambda state: state["asked"]) == {"asked": ["tales"]}


async def test_a_durable_process_is_asked_once_across_a_kill(house: House) -> None:
    go, handled = asyncio.Event(), []

    @durable(key="vault:{name}")
    async def vault(ctx, name: str):
        yield {}
        async for message in ctx:
            match message:
                case Call(_, reply):
                    handled.append(message.message)
                    await go.wait()
                    reply("open")
            yield {}

    made = as_tool(vault, message={"type": "open"}, args={"name": "A"})
    agent = clerk(call("vault"), "It is open.", tools=[made])
    bench = await house.open(agent)
    run = bench.run(agent, "Open the vault", id="r1")
    await until(lambda: handled)

    await run.kill()
    go.set()
    await run.recover()

    assert await run == "It is open."
    assert (handled, calls(run)[0]["result"]) == ([{"type": "open"}], "open")
    logged = [entry for entry in bench.store.history_now("vault:A") if entry.kind == "message"]
    assert [entry.call_id for entry in logged] == ["run:r1#1#t1.0"] == [calls(run)[0]["call_id"]]


async def test_a_process_of_another_kernel_is_called_there(house: House) -> None:
    owner = await house.open(shelf)
    await owner.lookup(shelf, name="A").call({"book": "first"}, id="c1")
    agent = clerk(
        call("shelf", book="tales"), "Done.", tools=[as_tool(shelf, message={"book": str}, args={"name": "A"})]
    )
    bench = await house.open(agent)
    run = bench.run(agent, "Look")

    assert await run == "Done."
    assert calls(run)[0]["result"] == "tales is on A"
    assert owner.lookup(shelf, name="A").state == {"asked": ["first", "tales"]}
    assert "shelf:A" in bench.elsewhere


@pytest.mark.parametrize("how", ["ends", "crashes", "is disposed", "has no case", "is over"])
async def test_a_process_that_cannot_answer_is_an_error_of_the_call(room: House, how: str) -> None:
    begun = asyncio.Event()

    @process(quiet=True)
    async def frail(ctx):
        yield 0
        async for message in ctx:
            match message:
                case Call("ends", _):
                    return
                case Call("crashes", _):
                    raise ValueError("torn")
                case Call("is disposed", _):
                    begun.set()
                    await asyncio.Event().wait()

    bench = await room.open(clerk("Hello."))
    handle = bench.spawn(frail)
    if how == "is over":
        await handle.dispose()
    agent = clerk(call("frail", message=how), "It is gone.", tools=[as_tool(handle)])
    run = bench.run(agent, "Ask")
    if how == "is disposed":
        await begun.wait()
        await handle.dispose()

    assert await run == "It is gone."
    (row,) = calls(run)
    assert row["status"] == "failed"
    assert row["error"]["type"] == {"has no case": "CallRefused", "crashes": "ValueError"}.get(how, "ProcessEnded")
    assert ears(agent).told[0].outcome == "failed"


@durable(key="torn:{n}")
async def torn(ctx, n: int):
    raise ValueError("at the start")
    yield n


@durable(key="tears:{n}", max_attempts=2)
async def tears(ctx, n: int):
    yield n
    async for _ in ctx:
        raise ValueError("in a message")


@durable(key="over:{n}")
async def over(ctx, n: int):
    yield n


@durable(key="deaf:{n}")
async def deaf(ctx, n: int):
    yield n
    async for _ in ctx:
        yield n


@pytest.mark.parametrize(
    ("given", "error"),
    [(torn, "ValueError"), (tears, "DeadLettered"), (over, "ProcessEnded"), (deaf, "CallRefused")],
)
async def test_a_durable_process_that_cannot_answer_is_an_error_too(room: House, given: Any, error: str) -> None:
    agent = clerk(call(given.name), "No.", tools=[as_tool(given, message={"ask": 1}, args={"n": 1})])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    assert await run == "No."
    assert (calls(run)[0]["status"], calls(run)[0]["error"]["type"]) == ("failed", error)


async def test_a_lost_link_is_an_error_of_the_call(room: House) -> None:
    class Far(Handle):
        def call(self, message: Any, *, id: str | None = None) -> Any:
            raise ConnectionResetError("the link is lost")

    agent = clerk(call("far_away", message=1), "It is gone.", tools=[Far("far away")])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    assert await run == "It is gone."
    assert calls(run)[0]["error"]["message"] == "the link is lost"


async def test_a_process_that_never_answers_ends_with_the_time_of_its_tool(room: House) -> None:
    @process
    async def mute(ctx):
        yield 0
        async for _ in ctx:
            await asyncio.Event().wait()

    agent = clerk(call("mute", message=1), "No answer.", tools=[as_tool(mute, timeout=0.01)])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    assert await run == "No answer."
    assert calls(run)[0]["error"]["type"] == "TimeoutError"


async def test_a_tool_looks_up_and_calls_processes_of_its_bench(room: House) -> None:
    @tool
    async def find(book: str, ctx: ToolContext) -> list[Any]:
        where = ctx.lookup(shelf, name="A")
        return [await ctx.call("look", where, {"book": book}), await ctx.call("look", where, {"book": book})]

    agent = clerk(call("find", book="tales"), "Done.", tools=[find])
    bench = await room.open(agent, shelf)
    run = bench.run(agent, "Find")
    await run

    assert calls(run)[0]["result"] == ["tales is on A"] * 2
    assert bench.lookup(shelf, name="A").state == {"asked": ["tales", "tales"]}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda: as_tool(shelf, args={"room": 1}),
            r"tool 'shelf' fixes 'room', and its process takes \['floor', 'name'\]",
        ),
        (lambda: as_tool(search, args={"room": 1}), "its process takes no arguments"),
        (lambda: as_tool(shelf, message={"name": str}), "'name' in the message and among the arguments of the process"),
        (lambda: as_tool(search, message="a text"), "has message='a text'; give a type, a function"),
        (lambda: as_tool(len, message=str), "are for a process that is a tool"),
    ],
)
def test_what_makes_no_message_is_refused(made: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made()
