"""Results: what runs gave, as MCP has it.

- A result is structured where its tool declares a type, and the same as JSON in text; it is checked against the type
  that was listed before it leaves, for clients refuse what does not fit.
- A tool that declares MCP's own content (`mcp.types.ImageContent`, a list of such) gives that as it is.
- A failure is a result too, so that the model that called can mend its call; its words are those for callers.
- Whatever leaves is JSON that every client reads, in both eras; a failure that nobody foresaw leaves as a reference.

Source: ENDPOINTS 1.3, SEP-1303.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import mcp_types as mt
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from workbench.endpoints.told import as_json, by_reference
from workbench.models.checks import problem_of, said_of
from workbench.plain import is_deeper

if TYPE_CHECKING:
    from mcp.server.context import CallNext, ServerRequestContext

    from workbench.endpoints.catalogue import Offer
    from workbench.endpoints.errands import Standing

__all__ = ["as_tool", "gives_content", "of_answer", "of_call", "refusal", "telling"]

DEEPEST = 150
"""Levels of a structured result: clients read messages of some 200, which have more around it."""

_BLOCKS: TypeAdapter[list[Any]] = TypeAdapter(list[mt.ContentBlock])
_CONTENT = frozenset(get_args(mt.ContentBlock))


async def telling(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
    """A middleware of the server: what a request comes to, as its client can read it. Raises: MCPError."""
    try:
        return as_json(await call_next(ctx))
    except (MCPError, ValidationError):  # the server's own way to refuse a request
        raise
    except Exception as error:
        raise MCPError(mt.INTERNAL_ERROR, by_reference(error, "a request over MCP")) from error


def as_tool(offer: Offer) -> mt.Tool:
    """An offer as it is listed."""
    tool = offer.tool
    hints = mt.ToolAnnotations(
        read_only_hint=tool is not None and tool.read_only,
        idempotent_hint=tool is not None and (tool.idempotent or tool.read_only),
        destructive_hint=None if tool is None else tool.destructive,
    )
    return mt.Tool(
        name=offer.name,
        description=offer.description,
        input_schema=dict(offer.input_schema),
        output_schema=None if offer.output_schema is None or gives_content(offer) else dict(offer.output_schema),
        annotations=hints,
    )


def gives_content(offer: Offer) -> bool:
    """Whether its tool declares MCP's own content as its result."""
    returns = None if offer.tool is None else offer.tool.returns
    return returns in _CONTENT or (bool(get_args(returns)) and _CONTENT.issuperset(_members(returns)))


def of_call(offer: Offer, standing: Standing) -> mt.CallToolResult:
    """What a tool that was called directly came to."""
    if standing.status != "completed":
        return refusal(f"{offer.name}: {standing.words}")
    value = as_json(standing.output)
    if gives_content(offer):
        blocks = value if isinstance(value, list) else [value]
        return mt.CallToolResult(content=_BLOCKS.validate_python(blocks, by_name=True, by_alias=True))
    structured = {"result": value} if offer.wrapped else value
    if offer.output_schema is None:
        return mt.CallToolResult(content=[_text(value)])
    if is_deeper(value, DEEPEST):
        return refusal(
            f"{offer.name} ran, and what it gave is nested deeper than the {DEEPEST} levels that MCP clients read"
        )
    try:
        TypeAdapter(offer.tool.returns if offer.tool is not None else Any).validate_python(standing.output)
    except ValidationError as error:
        return refusal(
            f"{offer.name} ran, and what it gave does not fit what it declares: "
            f"{said_of([problem_of(one, whole='the result') for one in error.errors(include_url=False)])}"
        )
    return mt.CallToolResult(content=[_text(value)], structured_content=structured)


def of_answer(standing: Standing) -> mt.CallToolResult:
    """How a run stands: the answer once there is one, as a text of JSON where it is nested too deep."""
    plain = as_json(standing.to_plain())
    text = plain["output"] if isinstance(plain.get("output"), str) else plain
    if is_deeper(plain, DEEPEST):
        plain["output"] = json.dumps(plain["output"], ensure_ascii=False)
    return mt.CallToolResult(
        content=[_text(text)], structured_content=plain, is_error=standing.status in ("failed", "cancelled")
    )


def refusal(words: str) -> mt.CallToolResult:
    """A call that gave nothing, and why."""
    return mt.CallToolResult(content=[mt.TextContent(text=words)], is_error=True)


def _text(value: Any) -> mt.TextContent:
    return mt.TextContent(text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _members(returns: Any) -> set[Any]:
    """The types inside a list or union, however nested."""
    members: set[Any] = set()
    for each in get_args(returns):
        members |= _members(each) if get_args(each) else {each}
    return members
