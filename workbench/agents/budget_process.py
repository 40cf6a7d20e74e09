"""The process of an account: what it hears, `@budget:bench` or `@budget:run:<id>`, and what it answers.

- ask takes what is asked for or refuses it; wait does the same and stays open until it fits; spent writes down what was
  used; extend and limit change the limits; leave gives up what a run waits for.
- An account is opened by the first message that says what it begins with, so no message has to come before another.

Source: AGENTS 4 (7). Knows nothing of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.budget_account import blank, extended, limited, refusal, spent, take, withdraw
from workbench.durable.definition import DurableDefinition
from workbench.errors import BadInput, ProcessEnded
from workbench.plain import decode, encode
from workbench.process.calls import Call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from workbench.durable.context import DurableContext
    from workbench.durable.process import DurableProcess
    from workbench.durable.runtime import Runtime

__all__ = ["DEFINITION", "account_state", "accounting", "call", "key_of", "post", "process"]

DEFINITION = "@budget"
IDLE = 60.0
"""Seconds after which an account that nobody asks leaves memory; the store has it."""
PAUSE = 1.0
"""Seconds before an account that ended twice before it answered is asked again."""


def key_of(of: str) -> str:
    """The key of an account's process."""
    return f"{DEFINITION}:{of}"


def account_state(runtime: Runtime, of: str) -> dict[str, Any] | None:
    """The newest state of an account, from here or the store; None before its first message is handled."""
    process = runtime.live.get(key_of(of))
    state = process.state if process is not None else None
    if type(state) is not dict:
        state = next((_read(info.snapshot) for info in runtime.store.keys_now(key=key_of(of))), None)
    return {**blank(of), **state} if type(state) is dict else None


def _read(snapshot: str | None) -> Any:
    """A stored state; None for a row that was changed by hand into what cannot be read."""
    try:
        return None if snapshot is None else decode(snapshot)
    except BadInput:
        return None


def process(runtime: Runtime, of: str) -> DurableProcess:
    """The process of an account, which lives here, elsewhere, or begins now."""
    return runtime.lookup(runtime.definitions[DEFINITION], {"of": of})


async def call(runtime: Runtime, of: str, message: dict[str, Any], id: str) -> Any:
    """The answer of an account to a message, under an id; asked again when its process ends before it answers."""
    again = False
    while True:
        try:
            return await process(runtime, of).call(message, id=id)
        except ProcessEnded:
            if runtime.closed:
                raise
        if again:
            await runtime.clock.pause(PAUSE)
        again = True


async def post(runtime: Runtime, of: str, message: dict[str, Any], id: str) -> None:
    """Put a message into the journal of an account; whoever runs it next sees to it."""
    text, args, now = encode(message), encode({"of": of}), runtime.clock.now()
    await runtime.store.post(key_of(of), text, id=id, wake=now, definition=DEFINITION, args=args)
    runtime.attend(key_of(of))


def accounting(now: Callable[[], float]) -> DurableDefinition:
    """The definition of the processes of all accounts."""

    async def account(ctx: DurableContext[Any, Any], of: str) -> AsyncGenerator[Any, None]:
        state = ctx.restored or blank(of)
        async for message in ctx:
            if type(message) is Call:
                asked = message.message
                state, answer = _handled(state, asked)
                if answer is not None:
                    message.reply(answer)
                else:
                    state = _parked(state, asked, message.reply.id, now())
                state = _let_go_on(ctx, state, asked["run"] if asked["type"] == "leave" else None)
            yield state

    return DurableDefinition(account, name=DEFINITION, key=lambda args: key_of(args["of"]), evict=IDLE, quiet=True)


def _handled(state: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The state after a message, and its answer; None for one that waits until it fits."""
    if state["opening"] is None and asked.get("opening") is not None:
        state = limited(state, asked["opening"])
    if asked.get("worked"):
        state = spent(state, {"seconds": asked["worked"]}, asked["agent"])
    match asked["type"]:
        case "wait" if refusal(state, asked["asked"], asked["needs"], asked["agent"]) is not None:
            return state, None
        case "ask" | "wait":
            return take(state, asked["asked"], asked["needs"], asked["agent"])
        case "spent":
            state = spent(state, asked["amounts"], asked["agent"], asked.get("unknown", ()))
            return state, {"left": state["left"]}
        case "extend":
            return _extended(state, asked)
        case "limit":
            state = limited(state, asked["limits"])
            return state, {"limits": state["limits"], "left": state["left"]}
        case "leave":
            return state, {"left": state["left"]}
        case other:
            return state, {"unknown": other}


def _extended(state: dict[str, Any], asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state with more, unless a button asks that somebody else has pressed meanwhile."""
    if asked.get("nth") not in (None, state["extensions"] + 1):
        return state, {"extended": {}, "left": state["left"]}
    return extended(state, asked["amounts"], uncounted=asked["uncounted"])


def _parked(state: dict[str, Any], asked: dict[str, Any], id: str, at: float) -> dict[str, Any]:
    """The state with a call that stays open."""
    waits = {"id": id, "since": at, **{name: asked[name] for name in ("run", "agent", "asked", "needs")}}
    return {**state, "waiting": [*state["waiting"], waits]}


def _let_go_on(ctx: DurableContext[Any, Any], state: dict[str, Any], leaves: str | None) -> dict[str, Any]:
    """Answer those of the run that leaves, and those who can have what they wait for, first come first served."""
    if leaves is not None:
        state, gone = withdraw(state, leaves)
        for id in gone:
            ctx.reply(id, {"granted": False})
    still = []
    for waits in state["waiting"]:
        if refusal(state, waits["asked"], waits["needs"], waits["agent"]) is None:
            state, answer = take(state, waits["asked"], waits["needs"], waits["agent"])
            ctx.reply(waits["id"], answer)
        else:
            still.append(waits)
    return {**state, "waiting": still}
