"""Evaluations: one agent on many requests, each run scored, as a durable process of its own.

- Every run has an id made of the evaluation, its case and its repeat, and its end is a step: after a crash the
  evaluation goes on where it was, what has finished is neither run nor scored again.
- `at_once` runs are out at a time. A run that waits for a person waits; one that fails has its error in its row.
- A score is a step too. A score function that raises leaves its words in the row, and the others count; so does a case
  whose run cannot be begun.
- Score functions are code: after a restart the evaluation goes on once `bench.evaluate` is called with its id again.

Source: AGENTS 4 (21). Knows nothing of windows.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import secrets
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.as_test import call_outcomes
from workbench.agents.runs import LONGEST_ID
from workbench.agents.scores import Scores
from workbench.durable.answers import hear
from workbench.durable.definition import DurableDefinition
from workbench.durable.keys import escape
from workbench.errors import BadInput, CallConflict, Signal
from workbench.given import named, several, shown, whole
from workbench.plain import decode, digest, encode
from workbench.process.calls import Call
from workbench.words import kind_and_words

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from workbench.agents.agent import Agent
    from workbench.agents.run import Run
    from workbench.agents.runs import Runs
    from workbench.durable.context import DurableContext
    from workbench.durable.process import DurableProcess
    from workbench.durable.runtime import Runtime

__all__ = ["Evaluation", "Result", "begin_evaluation"]

EVALUATE = "evaluate"
IDLE = 60.0
TICK = 0.2
AT_ONCE = 4
Score = Callable[["Result"], Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a score function is given of a run that completed.

    `case` is the case as it was given, `expected` its field of that name, `output` the answer as plain data, `calls`
    are what came of its calls, as `workbench.testing.call_outcomes` says. Each score function has its own copy.
    """

    case: dict[str, Any]
    output: Any
    calls: list[dict[str, Any]]
    seconds: float
    run: str

    @property
    def request(self) -> str:
        """What was asked."""
        return str(self.case["request"])

    @property
    def expected(self) -> Any:
        """What the case expects, or None when it does not say."""
        return self.case.get("expected")


def begin_evaluation(
    runtime: Runtime,
    runs: Runs,
    agent: Agent,
    cases: Iterable[Any],
    score: Any,
    *,
    repeats: int,
    at_once: int,
    id: str | None,
) -> Evaluation:
    """Begin an evaluation, or go on with the one of this id. Raises: BadInput, NotPlain, CallConflict."""
    scores, listed = _named_scores(score), several("cases", cases, '["Cancel order A-1002"]')
    message: dict[str, Any] = {
        "type": EVALUATE,
        "agent": agent.name,
        "cases": [_case(number, case) for number, case in enumerate(listed)],
        "repeats": whole("repeats", repeats, 1),
        "at_once": whole("at_once", at_once, 1),
        "scores": list(scores),
    }
    if not message["cases"]:
        raise BadInput("an evaluation needs at least one case; give texts, or dicts with a 'request'")
    room = LONGEST_ID - len(_run_id("", len(message["cases"]), message["repeats"]))
    name = named("the id of an evaluation", id, room) if id is not None else f"eval-{secrets.token_hex(4)}"
    key, text = f"evaluation:{escape(name)}", encode(message, "cases")
    known = runtime.store.message_now(key, EVALUATE)
    if known is not None and digest(decode(known)) != digest(decode(text)):
        raise CallConflict(
            f"the evaluation {name!r} is there already with another agent, other cases or scores; use a new id",
            key=key,
            id=name,
            first=decode(known),
            second=message,
        )
    definition = DurableDefinition(
        _Body(runs, agent, scores).run, name=f"evaluation:{name}", key=lambda args: key, evict=IDLE
    )
    runtime.add(definition)
    if known is None:
        runtime.store.post_now(
            key,
            text,
            id=EVALUATE,
            wake=runtime.clock.now(),
            definition=definition.name,
            args=encode({"id": name}),
        )
    process = runtime.handle(definition, key, {"id": name})
    if runtime.worker:
        process.start()
    return Evaluation(runtime, process, name, message)


def _case(number: int, case: Any) -> dict[str, Any]:
    made = {"request": case} if isinstance(case, str) else case
    if not isinstance(made, Mapping) or type(made.get("request")) is not str or not made["request"].strip():
        raise BadInput(f"case {number} is a text, or a dict with a 'request' in words, found {case!r:.80}")
    return dict(made)


def _named_scores(score: Any) -> dict[str, Score]:
    """The score functions by name. Raises: BadInput."""
    given = {} if score is None else score
    if callable(given):
        given = [given]
    if not isinstance(given, Mapping):
        if not isinstance(given, Iterable):
            raise BadInput(f"score is a function, a list of them, or a dict with their names, found {score!r:.80}")
        pairs = [(getattr(each, "__name__", f"score{number}"), each) for number, each in enumerate(given)]
    else:
        pairs = list(given.items())
    made: dict[str, Score] = {}
    for name, function in pairs:
        if type(name) is not str or not name or not callable(function) or name in COLUMNS:
            raise BadInput(f"the score {name!r} is a function with a name that no column has, found {function!r:.80}")
        called = "score" if name == "<lambda>" else named("the name of a score", name, LONGEST_NAME)
        if called in made:
            raise BadInput(f"two score functions have one name, {called!r}; give a dict of names and functions")
        made[called] = function
    return made


LONGEST_NAME = 512
"""Bytes of a score's name at most."""
COLUMNS = ("case", "repeat", "run", "request", "output", "tokens", "cost", "seconds", "error")


class _Body:
    """What an evaluation does, with the code that it was given in this life."""

    def __init__(self, runs: Runs, agent: Agent, scores: dict[str, Score]) -> None:
        self._runs = runs
        self._agent = agent
        self._scores = scores

    async def run(self, ctx: DurableContext[Any, Any], id: str) -> AsyncGenerator[Any, None]:
        state = ctx.restored or {"status": "running", "done": 0, "of": 0, "rows": None}
        yield state
        async for message in ctx:
            if type(message) is not Call or message.message.get("type") != EVALUATE:
                continue
            state = {"status": "running", "done": 0, "of": len(_places(message.message)), "rows": None}
            rows = await self._rows(ctx, id, message.message, state)
            state = {"status": "completed", "done": len(rows), "of": len(rows), "rows": rows}
            yield state
            message.reply({"rows": rows})

    async def _rows(
        self, ctx: DurableContext[Any, Any], id: str, asked: dict[str, Any], state: dict[str, Any]
    ) -> list[dict[str, Any]]:
        room = asyncio.Semaphore(asked["at_once"])

        async def one(case: int, repeat: int) -> dict[str, Any]:
            async with room, ctx.branch(f"c{case}.{repeat}"):
                row = await self._row(ctx, id, asked["cases"][case], case, repeat)
            state["done"] += 1
            ctx.show(dict(state))
            return row

        ctx.show(dict(state))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*place), name=f"{id} {place}") for place in _places(asked)]
        return [task.result() for task in tasks]

    async def _row(
        self, ctx: DurableContext[Any, Any], id: str, case: dict[str, Any], number: int, repeat: int
    ) -> dict[str, Any]:
        name = _run_id(id, number, repeat)
        end = await ctx.call("@run", _Case(self._runs, self._agent, name), case["request"])
        row = {"case": case.get("name", number), "repeat": repeat, "run": name, "request": case["request"]}
        row |= {column: end[column] for column in ("output", "tokens", "cost", "seconds", "error")}
        for score, function in self._scores.items():
            row[score] = None
            if end["status"] == "completed":
                result = Result(case, end["output"], end["calls"], end["seconds"], name)
                made = await ctx.step(f"score {score}", _scored(score, function, deepcopy(result)))
                row[score] = made["value"]
                row["error"] = row["error"] or made["error"]
        return row


def _run_id(id: str, case: int, repeat: int) -> str:
    return f"{id}.{case}.{repeat}"


def _places(asked: dict[str, Any]) -> list[tuple[int, int]]:
    return [(case, repeat) for case in range(len(asked["cases"])) for repeat in range(asked["repeats"])]


def _scored(name: str, function: Score, result: Result) -> Callable[[], Any]:
    """The step that scores: `{"value", "error"}`, whatever the function does."""

    def judged(value: Any) -> dict[str, Any]:
        if value is None or (isinstance(value, (bool, int, float)) and _is_number(value)):
            return {"value": value, "error": None}
        return _unscored(f"score {name} gave {shown(value):.60}, which is no number and no truth value")

    def failed(error: BaseException) -> dict[str, Any]:
        if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, Signal)):  # not about this score
            raise error
        return _unscored(f"score {name}: {kind_and_words(error)}")

    async def waited() -> dict[str, Any]:
        try:
            return judged(await function(result))
        except BaseException as error:  # such as what a test library fails with
            return failed(error)

    def called() -> Any:
        try:
            value = function(result)
        except BaseException as error:
            return failed(error)
        return _late(value) if inspect.isawaitable(value) else judged(value)

    async def _late(value: Awaitable[Any]) -> dict[str, Any]:
        try:
            return judged(await value)
        except BaseException as error:
            return failed(error)

    return waited if inspect.iscoroutinefunction(function) else called


def _unscored(why: str) -> dict[str, Any]:
    return {"value": None, "error": why}


def _is_number(value: float) -> bool:
    """Whether a mean can be made of it."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class _Case:
    """One run of an evaluation as `ctx.call` calls it: begun unless it was, and waited for to its end."""

    def __init__(self, runs: Runs, agent: Agent, id: str) -> None:
        self.key = id
        self._runs = runs
        self._agent = agent

    async def call(self, request: str, *, id: str) -> dict[str, Any]:
        """How the run ended."""
        try:
            run = self._runs.start(self._agent, request, id=self.key)
        except (BadInput, CallConflict) as refused:  # the others have their runs all the same
            why = kind_and_words(refused)
            nothing = dict.fromkeys(("output", "tokens", "cost"))
            return {"status": "failed", "error": why, "seconds": 0.0, "calls": [], **nothing}
        await _ended(run)
        view = run.view()
        usage, error = view["usage"], view["error"]
        known = [usage[name] for name in ("input_tokens", "output_tokens") if usage[name] is not None]
        return {
            "status": view["status"],
            "output": run.state["output"],
            "error": _why(run, view["status"], error),
            "tokens": sum(known) if known else None,
            "cost": usage["cost_microdollars"],
            "seconds": (view["ended_at"] or view["now"]) - view["began_at"],
            "calls": call_outcomes(run),
        }


async def _ended(run: Run) -> None:
    """Return once the run has ended, wherever it lives; one that was killed is waited for until it is recovered."""
    changed = asyncio.Event()
    stop = run.subscribe(changed.set)
    try:
        while not run.ended:
            await changed.wait()
            changed.clear()
    finally:
        stop()


def _why(run: Run, status: str, error: dict[str, Any] | None) -> str | None:
    if error is not None:
        return f"{error['type']}: {error['message']}"
    return f"cancelled by {run.state.get('cancelled_by') or 'someone'}" if status == "cancelled" else None


class Evaluation:
    """An evaluation: await it for its scores. `id`, `agent`, `done` of `of` runs."""

    def __init__(self, runtime: Runtime, process: DurableProcess, id: str, asked: dict[str, Any]) -> None:
        self.id = id
        self.agent: str = asked["agent"]
        self.of = len(_places(asked))
        self.process = process
        self._asked = asked
        self._runtime = runtime

    @property
    def done(self) -> int:
        """How many of its runs have ended and are scored."""
        state = self.process.state
        return int(state["done"]) if state is not None else 0

    def __await__(self) -> Generator[Any, None, Scores]:
        return self._end().__await__()

    async def _end(self) -> Scores:
        """The scores. Raises: DeadLettered when it was given up after too many attempts."""
        while (answer := self._runtime.store.result_now(self.process.key, EVALUATE)) is None:
            changed = asyncio.Event()
            stop = self.process.states.changes.subscribe(changed.set)
            try:
                async with asyncio.timeout(TICK):
                    await changed.wait()
            except TimeoutError:
                continue  # an interrupt of the cell is noticed in between
            finally:
                stop()
        ended = hear(answer, digest(self._asked), self.process.key, EVALUATE, self._runtime.store)
        return Scores(ended["rows"], self._asked["scores"], self.id)

    def __repr__(self) -> str:
        if self._runtime.closed:
            return f"<Evaluation {self.id} of {self.agent}: its bench is closed>"
        return f"<Evaluation {self.id} of {self.agent}: {self.done} of {self.of} runs done>"
