"""Foreign tools: what was made for other libraries, accepted as it is.

- Tools, toolsets and agents of Pydantic AI; tools in the shape of the OpenAI Agents SDK, known by that shape; tools of
  an MCP server, of which the server's list says all but how they are called.
- Their approval flags are enforced by our loop: a call that needs a yes waits for a person before anything runs, and a
  flag that cannot be evaluated asks.
- A tool whose result comes from outside is answered by a person, as the tool.

Knows nothing of connections: who holds one gives the function that calls. Source: AGENTS 1.6 (Interop).
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from workbench.agents.tools import Tool
from workbench.errors import BadInput, NeedsApproval, ToolFailed
from workbench.given import several
from workbench.models.foreign_tools import ForeignTool, is_foreign, list_now, list_tools, wants_run_context

if TYPE_CHECKING:
    from workbench.agents.context import ToolContext

__all__ = ["accepted", "mcp_result", "mcp_tool", "tools_of"]

CallMCP = Callable[[str, dict[str, Any]], Awaitable[Any]]


def accepted(given: Iterable[Any]) -> list[Any]:
    """What an agent was given as tools, with what is foreign made ours: one toolset gives many, and so does a list.

    Raises: BadInput naming what is missing, for what cannot be a tool without it.
    """
    made: list[Any] = []
    for each in several("tools", given, "[refund]"):
        if isinstance(each, list | tuple):
            made += accepted(each)
        elif is_foreign(each) or wants_run_context(each):
            made += [_of_the_library(tool) for tool in list_now(each)]
        elif _is_openai(each):
            made += [_of_openai(each)] if getattr(each, "is_enabled", True) is not False else []
        elif _is_mcp(each):
            raise BadInput(
                f"the MCP tool {each.name!r} does not say how it is called; write mcp_tool(tool, call), from "
                "workbench.agents.foreign, with the session's call_tool",
                tool=each.name,
            )
        else:
            made.append(each)
    return made


async def tools_of(given: Any, *, deps: Any = None) -> list[Tool]:
    """The tools of a toolset, agent or tool of Pydantic AI, also of one that lists them over a connection.

    `deps` is what they find in their run context. Raises: BadInput.
    """
    return [_of_the_library(tool) for tool in await list_tools(given, deps)]


def mcp_tool(definition: Any, call: CallMCP, *, name: str | None = None, **policy: Any) -> Tool:
    """A tool of an MCP server. `definition` is an entry of its list, as an object or as the JSON of the protocol.

    `call(name, arguments)` gives the server's result, such as a session's `call_tool`. Its hints say whether it only
    reads, may be repeated, and destroys, unless `policy` (the options of `as_tool`) says otherwise: they are the
    server's word. Structured content is the result, else the texts; a result that is an error fails the call.
    Raises: BadInput for a definition without a name or with a schema that is none of an object.
    """
    told = _json(definition)
    if type(told.get("name")) is not str:
        raise BadInput(f"an MCP tool has a name, found {told!r:.80}")
    own, hints = told["name"], told.get("annotations") or {}

    async def ask(args: dict[str, Any]) -> Any:
        return mcp_result(own, await call(own, args))

    known = {
        "read_only": hints.get("readOnlyHint") is True,
        "idempotent": hints.get("idempotentHint") is True,
        "destructive": _flag(hints.get("destructiveHint")),
    }
    words = told.get("description") or told.get("title") or hints.get("title") or ""
    schema = told.get("inputSchema") or {"type": "object", "properties": {}}
    return Tool.from_schema(ask, name or own, words, schema, **{**known, **policy})


def _of_the_library(tool: ForeignTool) -> Tool:
    """A tool of Pydantic AI as ours."""

    async def ask(values: dict[str, Any], ctx: ToolContext) -> Any:
        if tool.elsewhere:
            raise BadInput(f"the result of {tool.name!r} comes from elsewhere; answer its request as the tool instead")
        return await tool.call(values, ctx.call_id, ctx.approved)

    return Tool.from_schema(
        ask,
        tool.name,
        tool.description,
        tool.parameters,
        validator=tool.check,
        approval=tool.asks,
        timeout=tool.timeout,
        read_only=tool.hints.get("readOnlyHint") is True,
        idempotent=tool.hints.get("idempotentHint") is True,
        destructive=_flag(tool.hints.get("destructiveHint")),
    )


def _flag(hint: Any) -> bool | None:
    """A hint of somebody else's; None for one that is no truth value, which says nothing."""
    return hint if isinstance(hint, bool) else None


def _is_openai(thing: Any) -> bool:
    """Whether a thing has the shape of a function tool of the OpenAI Agents SDK."""
    return (
        _has(thing, "on_invoke_tool", "name", "params_json_schema")
        and type(thing.name) is str
        and isinstance(thing.params_json_schema, Mapping)
    )


def _of_openai(thing: Any) -> Tool:
    needs = getattr(thing, "needs_approval", False)

    async def ask(values: dict[str, Any], ctx: ToolContext) -> Any:
        text = json.dumps(values)
        about = _openai_context(thing, ctx.call_id, text)
        if callable(needs) and not ctx.approved and await _wants_a_yes(needs, about, values, ctx.call_id):
            raise NeedsApproval("")
        result = thing.on_invoke_tool(about, text)
        return await result if inspect.isawaitable(result) else result

    return Tool.from_schema(
        ask,
        thing.name,
        getattr(thing, "description", "") or "",
        dict(thing.params_json_schema),
        approval=not callable(needs) and needs is not False,
        timeout=getattr(thing, "timeout_seconds", None),
    )


def _openai_context(thing: Any, call_id: str, text: str) -> Any:
    """What such a tool is told of its call: the SDK's own context, which came with the tool, else a likeness of it."""
    home = sys.modules.get(f"{type(thing).__module__.rpartition('.')[0]}.tool_context")
    made = getattr(home, "ToolContext", SimpleNamespace)
    return made(context=None, tool_name=thing.name, tool_call_id=call_id, tool_arguments=text)


async def _wants_a_yes(needs: Callable[..., Any], about: Any, values: dict[str, Any], call_id: str) -> bool:
    """What a predicate says; anything but a plain no asks, and so does one that raises."""
    try:
        said = needs(about, values, call_id)
        said = await said if inspect.isawaitable(said) else said
    except Exception:  # fails closed: DESIGN rule 12
        return True
    return said is not False


def _is_mcp(thing: Any) -> bool:
    return _has(thing, "name") and (_has(thing, "inputSchema") or _has(thing, "input_schema"))


def _has(thing: Any, *names: str) -> bool:
    """Whether a thing has attributes of its own by these names; no code of it runs to find out."""
    return all(inspect.getattr_static(thing, name, None) is not None for name in names)


def _json(thing: Any) -> dict[str, Any]:
    """A thing of the protocol as its JSON."""
    if hasattr(thing, "model_dump"):
        return dict(thing.model_dump(mode="json", by_alias=True, exclude_none=True))
    if isinstance(thing, Mapping):
        return dict(thing)
    raise BadInput(f"what an MCP server gives is an object of the protocol or its JSON, found {thing!r:.80}")


def mcp_result(name: str, result: Any) -> Any:
    """What a call of the tool `name` of an MCP server gave: its structured content, else its texts, else its parts.

    Raises: ToolFailed with the server's words when the result is an error.
    """
    told = _json(result)
    content = told.get("content") or []
    texts = [part["text"] for part in content if part.get("type") == "text"]
    if told.get("isError"):
        raise ToolFailed("\n".join(texts) or f"the tool {name!r} failed and does not say why", tool=name)
    if told.get("structuredContent") is not None:
        return told["structuredContent"]
    if len(texts) == len(content):
        return "\n".join(texts)
    return content
