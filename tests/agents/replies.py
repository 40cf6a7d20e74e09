"""What providers send: the replies of `test_replies.py` and of the page `docs/provider-replies.md`.

`python tests/agents/replies.py` runs them all and writes the page. Each reply is played by a server on the loopback, as
many answers as the run asks for, and goes through a real bench; the page has what came of it, word for word, and the
test holds the code to the page.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from houses import House, calls, until
from openai_server import Answer, OpenAIServer, called, closing, refusing, text

from workbench import Agent, models
from workbench.agents.run import Run

__all__ = ["PAGE", "REPLIES", "Reply", "page", "row"]

PAGE = Path(__file__).parents[2] / "docs" / "provider-replies.md"
HEAD = """# What providers send, and what becomes of it

Every row is a test: a server on the loopback sends the reply, a real bench runs an agent with the tools `add(a, b)` and
`look()`, and the last two columns are what the model was told next and what the run's view says, word for word. The
code is held to this page by `tests/agents/test_replies.py`.

A try that failed is in the journal before the next one. A turn is asked for again twice after a broken connection, a
failure of the server, a stream that ends early or an empty answer, once after the output limit, and four times when
requests are refused for now; the waits are 1, 2, 4 and 8 seconds, never less than the provider asks for. Three turns
in a row of which nothing can be used fail the run: `Agent(retries=2)`.

| The provider sends | The loop | The model hears | The person sees |
|---|---|---|---|
"""
NOTHING = "nothing new"


@dataclass
class Reply:
    """What is sent, what our loop does with it, and the output that the agent is to have."""

    what: str
    answers: list[Answer]
    does: str
    output: Any = str


def done(words: str = "Done.") -> Answer:
    return Answer([text(words), *closing("stop")])


def asking(*each: tuple[str | None, str, str], finish: str = "tool_calls") -> Answer:
    return Answer([called(*each), *closing(finish)])


CUT = '{"a": 1, "b": '
ADD = '{"a": 1, "b": 2}'

REPLIES = [
    Reply("arguments cut off: `" + CUT + "`", [asking(("c1", "add", CUT)), done()], "runs nothing, tells the model"),
    Reply(
        "arguments that are a list: `[1, 2]`",
        [asking(("c1", "add", "[1, 2]")), done()],
        "runs nothing, tells the model",
    ),
    Reply("arguments that are a number: `7`", [asking(("c1", "add", "7")), done()], "runs nothing, tells the model"),
    Reply(
        "arguments with `NaN`", [asking(("c1", "add", '{"a": NaN, "b": 2}')), done()], "runs nothing, tells the model"
    ),
    Reply(
        "empty text as the arguments of a tool without parameters",
        [asking(("c1", "look", "")), done()],
        "takes it for no arguments",
    ),
    Reply(
        "empty text as the arguments of a tool with parameters",
        [asking(("c1", "add", "")), done()],
        "runs nothing, tells the model",
    ),
    Reply(
        "arguments of the wrong type",
        [asking(("c1", "add", '{"a": "one", "b": 2}')), done()],
        "runs nothing, tells the model by parameter",
    ),
    Reply(
        "an argument that the tool does not have",
        [asking(("c1", "add", '{"a": 1, "b": 2, "c": 3}')), done()],
        "runs nothing, tells the model by parameter",
    ),
    Reply(
        "arguments nested 5,000 deep",
        [asking(("c1", "add", '{"a": ' + "[" * 5000 + "]" * 5000 + "}")), done()],
        "runs nothing, tells the model",
    ),
    Reply(
        "half of a surrogate pair in the arguments",
        [asking(("c1", "add", '{"a": "\\ud83d", "b": 2}')), done()],
        "runs nothing, tells the model",
    ),
    Reply("arguments cut off three times in a row", [asking(("c1", "add", CUT))] * 3, "fails the run after `retries`"),
    Reply(
        "two calls with one id",
        [asking(("c1", "add", ADD), ("c1", "look", "{}")), done()],
        "runs both, gives the second an id of its own",
    ),
    Reply(
        "a call without an id (`null`)",
        [asking((None, "add", ADD)), done()],
        "runs it under an id made of turn and position",
    ),
    Reply(
        "a call with an empty id", [asking(("", "add", ADD)), done()], "runs it under an id made of turn and position"
    ),
    Reply("a tool that does not exist", [asking(("c1", "ad", ADD)), done()], "tells the model which there are"),
    Reply(
        "a tool that does not exist, three times in a row",
        [asking(("c1", "ad", ADD))] * 3,
        "fails the run after `retries`",
    ),
    Reply("a tool without a name", [asking(("c1", "", ADD)), done()], "tells the model which there are"),
    Reply(
        "words and a call in one answer",
        [Answer([text("Adding. "), called(("c1", "add", ADD)), *closing("tool_calls")]), done()],
        "runs the call, keeps the words",
    ),
    Reply(
        "a call, and `stop` as the reason",
        [asking(("c1", "add", ADD), finish="stop"), done()],
        "runs it: the call counts, not the reason",
    ),
    Reply("a refusal", [Answer([refusing("I must not"), *closing("stop")])], "fails the run with its words"),
    Reply("the filter's reason and no words", [Answer(closing("content_filter"))], "fails the run"),
    Reply(
        "the filter's reason after some words",
        [Answer([text("It is"), *closing("content_filter")])],
        "takes the words, marked as cut off",
    ),
    Reply("no usage", [Answer([text("Done."), text("", "stop")])], "counts the tokens as not reported"),
    Reply("the reason `banana`", [Answer([text("Done."), *closing("banana")])], "takes the answer, keeps the reason"),
    Reply(
        "a stream that ends early and cleanly, in the words",
        [Answer([text("Do")], done=False), done()],
        "throws it away, asks again",
    ),
    Reply(
        "a stream that ends early and cleanly, in a call",
        [Answer([called(("c1", "add", CUT))], done=False), done()],
        "throws it away, asks again",
    ),
    Reply(
        "a stream that ends early three times",
        [Answer([text("Do")], done=False)] * 3,
        "fails the run after two more tries",
    ),
    Reply("a chunked body that breaks off", [Answer([text("Do")], broken=True), done()], "throws it away, asks again"),
    Reply("a chunk that is no JSON", [Answer(["{no json"]), done()], "throws it away, asks again"),
    Reply(
        "an error inside the stream",
        [Answer([text("Do"), '{"error": {"message": "overloaded", "type": "server_error"}}']), done()],
        "throws it away, asks again",
    ),
    Reply(
        "`<think>` in the words, split over chunks",
        [Answer([text("<thi"), text("nk>Hm.</think>"), text("Done."), *closing("stop")])],
        "keeps the thought apart from the answer",
    ),
    Reply(
        "the output limit in a call",
        [asking(("c1", "add", CUT), finish="length"), done()],
        "runs nothing, asks again once",
    ),
    Reply("the output limit in a call, twice", [asking(("c1", "add", CUT), finish="length")] * 2, "fails the run"),
    Reply("the output limit before any words", [Answer(closing("length")), done()], "asks again once"),
    Reply(
        "the output limit in the words",
        [Answer([text("Once upon"), *closing("length")])],
        "takes the words, marked as cut off",
    ),
    Reply("an empty answer", [Answer(closing("stop")), done()], "asks again, up to twice"),
    Reply("blanks only", [Answer([text(" \n"), *closing("stop")]), done()], "asks again, up to twice"),
    Reply("an empty answer, three times", [Answer(closing("stop"))] * 3, "fails the run"),
    Reply("status 500, then an answer", [Answer(status=500), done()], "asks again after a second"),
    Reply("status 503, three times", [Answer(status=503)] * 3, "fails the run after two more tries"),
    Reply(
        "status 429 with `retry-after: 20`",
        [Answer(status=429, headers="retry-after: 20\r\n"), done()],
        "asks again after 20 seconds",
    ),
    Reply("status 400", [Answer(status=400)], "fails the run: the request is at fault"),
    Reply("status 401", [Answer(status=401)], "fails the run; a fallback would be asked"),
    Reply(
        "words where an `int` is wanted",
        [done("It is three."), asking(("c1", "final_result", '{"value": 3}'))],
        "tells the model how to answer",
        output=int,
    ),
    Reply("JSON in words where an `int` is wanted", [done("3")], "takes it", output=int),
    Reply(
        "an output that does not fit",
        [asking(("c1", "final_result", '{"value": "x"}')), asking(("c2", "final_result", '{"value": 3}'))],
        "tells the model what is wrong",
        output=int,
    ),
    Reply(
        "an output that never fits",
        [asking(("c1", "final_result", '{"value": "x"}'))] * 3,
        "fails the run after `retries`",
        output=int,
    ),
    Reply(
        "an output beside a call that fails",
        [
            asking(("c1", "add", CUT), ("c2", "final_result", '{"value": 3}')),
            asking(("c3", "final_result", '{"value": 4}')),
        ],
        "asks for it again",
        output=int,
    ),
]


def page(rows: list[str]) -> str:
    """The page with these rows."""
    return HEAD + "".join(f"{each}\n" for each in rows)


async def row(house: House, reply: Reply) -> str:
    """The row of a reply, from what comes of it."""
    async with OpenAIServer(*reply.answers) as server:
        model = models.openai_compatible(server.url, "qwen3")
        bench = await house.open(agent := Agent("clerk", model=model, tools=[add, look], output=reply.output))
        run = bench.run(agent, "Go", id="r1")
        async with asyncio.timeout(20):
            await ended(house, run)
        await model.close()
        assert_valid(server)
        seen = sees(run).replace(server.url, "…")
        does = f"{reply.does}; {len(server.requests)} request{'s' if len(server.requests) > 1 else ''}"
        return f"| {' | '.join(escaped(cell) for cell in (reply.what, does, hears(server), seen))} |"


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def look() -> str:
    """Look."""
    return "seen"


def escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


async def ended(house: House, run: Run) -> None:
    """Return when the run has ended; the waits between its tries are passed by the clock."""
    while run.status not in ("completed", "failed"):
        await until(lambda: run.status in ("completed", "failed") or run.view()["now_line"]["shape"] == "retried")
        await house.clock.advance(30)


def hears(server: OpenAIServer) -> str:
    """What the last request tells the model beyond its own last turn, or beyond what the first one told."""
    first, last = server.requests[0]["messages"], server.requests[-1]["messages"]
    turns = [at for at, said in enumerate(last) if said["role"] == "assistant"]
    told = last[turns[-1] + 1 :] if turns else last[len(first) :]
    return " / ".join(said["content"] for said in told) or NOTHING


def sees(run: Run) -> str:
    """What the view of the run says: its calls, its notes, its tokens where there are none, its end."""
    view = run.view()
    parts = [f"{each['tool'] or 'a call'} {each['status']}" for each in calls(run)]
    parts += [each["note"] for each in view["rows"] if each["kind"] == "message" and "note" in each]
    parts += ["tokens not reported"] if view["usage"]["unreported"] else []
    error = view["error"]
    parts.append(f"{error['type']}: {error['message']}" if error else f"answer {view['result']!r}")
    return "; ".join(parts)


def assert_valid(server: OpenAIServer) -> None:
    """Every request that the server got has a history that a provider takes."""
    for request in server.requests:
        unanswered: list[str] = []
        for message in request["messages"]:
            if message["role"] == "tool":
                unanswered.remove(message["tool_call_id"])
                continue
            assert not unanswered, "a call has no result"
            asked: list[dict[str, Any]] = message.get("tool_calls") or []
            unanswered = [each["id"] for each in asked]
            assert len(set(unanswered)) == len(unanswered)
            assert all(isinstance(json.loads(each["function"]["arguments"]), dict) for each in asked)
        assert not unanswered, "a call has no result"


async def write() -> None:
    """Run them all and write the page."""
    rows = []
    for reply in REPLIES:
        with tempfile.TemporaryDirectory() as folder:
            house = House("memory", Path(folder))
            rows.append(await row(house, reply))
            await house.close()
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(write())
