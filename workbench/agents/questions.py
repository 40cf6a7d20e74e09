"""Questions: what a run asks of a person, as the bodies of requests.

- `tool_question` is a call that waits for a yes; the decision is bound to the digest of the arguments in it.
- `input_question` asks for a value: its schema is that of the answer, and nothing is proposed.
- A body is made once for its step; what is in it (the expiry too) never changes afterwards.

Source: AGENTS 3 (AG-UI interrupts) and 4 (approval record). Knows nothing of who decides.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workbench.agents.secret_texts import masked, secret_places
from workbench.plain import digest

if TYPE_CHECKING:
    from workbench.agents.tools import Tool
    from workbench.durable.requests import Request

__all__ = ["INPUT_REQUIRED", "TOOL_CALL", "asked_through", "input_question", "is_of_a_tool", "risk_of", "tool_question"]

TOOL_CALL, INPUT_REQUIRED = "tool_call", "input_required"
SECRET = "(secret)"
NEEDED = frozenset(("run", "agent", "tool", "call", "sentence", "act", "args", "schema"))


def tool_question(
    tool: Tool,
    args: dict[str, Any],
    *,
    run: str,
    agent: str,
    call: str,
    chain: list[dict[str, str]],
    expires_at: float | None = None,
    message: str = "",
    rule_id: str | None = None,
) -> dict[str, Any]:
    """May this call run? `call` is its branch; `chain` is who asked whom, `{"agent", "run"}` of each, the asker last.

    `message` says why a person is asked, `rule_id` which rule of the policy wants it.
    """
    return {
        **_place(run, agent, tool.name, call, chain),
        "reason": TOOL_CALL,
        "args": args,
        "digest": digest(args),
        "schema": tool.parameters,
        "sentence": _sentence(tool, args),
        "act": "Reads only." if tool.read_only else "Changes data.",
        "risk": risk_of(tool),
        "message": message,
        "rule_id": rule_id,
        "expires_at": expires_at,
        "on_expiry": "deny",
    }


def input_question(
    message: str,
    schema: dict[str, Any],
    *,
    run: str,
    agent: str,
    tool: str,
    call: str,
    chain: list[dict[str, str]],
    expires_at: float | None = None,
) -> dict[str, Any]:
    """What is the value? `message` is the question in words, `schema` the JSON schema of the answer."""
    return {
        **_place(run, agent, tool, call, chain),
        "reason": INPUT_REQUIRED,
        "args": {},
        "digest": digest({}),
        "schema": schema,
        "sentence": message,
        "act": "",
        "risk": "none",
        "message": message,
        "rule_id": None,
        "expires_at": expires_at,
        "on_expiry": "deny",
    }


def is_of_a_tool(request: Request) -> bool:
    """Whether the request has all that an approval shows; what else was asked, or changed by hand, is none."""
    return request.body.keys() >= NEEDED


def asked_through(request: Request, run: str) -> bool:
    """Whether a request is of this run, or of one that it asked, through however many others."""
    chain = request.body.get("chain")
    links = chain if type(chain) is list else ()
    return request.body.get("run") == run or any(type(link) is dict and link.get("run") == run for link in links)


def risk_of(tool: Tool) -> str:
    """What kind of act a call of the tool is: read_only, changes or destructive."""
    return "read_only" if tool.read_only else "destructive" if tool.destructive else "changes"


def _place(run: str, agent: str, tool: str, call: str, chain: list[dict[str, str]]) -> dict[str, Any]:
    turn, _, position = call.removeprefix("t").partition(".")
    return {
        "run": run,
        "agent": agent,
        "tool": tool,
        "call": call,
        "turn": int(turn),
        "position": int(position),
        "chain": chain,
    }


def _sentence(tool: Tool, args: dict[str, Any]) -> str:
    """What the call will do, from the tool's description and the arguments."""
    first = (tool.description or tool.name).strip().splitlines()[0].rstrip(".")
    shown = masked(args, secret_places(tool.parameters, args), SECRET)
    given = [f"{name} {value if value is SECRET else _quoted(value)}" for name, value in shown.items()]
    if not given:
        return f"{first}."
    return (
        f"{first}, with {given[0]}." if len(given) == 1 else f"{first}, with {', '.join(given[:-1])} and {given[-1]}."
    )


def _quoted(value: Any) -> str:
    """A value as every view writes it: a text in quotation marks, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= 80 else text[:79] + "…"
    return f"“{text}”" if isinstance(value, str) else text
