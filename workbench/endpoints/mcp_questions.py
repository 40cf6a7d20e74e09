"""Questions over MCP: what a tool asks a person for, asked of the caller that called it, in either era.

- Only what `ctx.ask_user` asks in a tool that was called directly, and only of a client that says it can ask its user:
  never whether a call may run, which is for the owner to say.
- In the handshake era the caller is asked while its call waits. In the modern one the call ends with what it needs, and
  comes again with it: the run waits meanwhile, and is found by the sealed state of the request, also after a restart.
- A form has plain fields only; what is asked for otherwise is refused, as a question that nobody answers.

Source: ENDPOINTS 1.1 and 5.17; MCP elicitation (2025-06-18), SEP-2322.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from workbench.endpoints.told import as_json
from workbench.errors import AlreadyDecided, BadInput
from workbench.words import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.errands import Errands, Question
    from workbench.endpoints.service import Reception

__all__ = ["Questions", "can_be_asked", "is_modern", "sealing"]

ANSWER = "answer"
PLAIN = frozenset(("string", "number", "integer", "boolean"))
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def is_modern(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the request is of the era without sessions."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_be_asked(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client says that it can ask its user, and can be reached for it."""
    capabilities = ctx.session.client_capabilities
    declared = capabilities is not None and capabilities.elicitation is not None
    return declared and (is_modern(ctx) or ctx.session.can_send_request)


def sealing(key: bytes, name: str) -> RequestStateBoundary:
    """What keeps the state of a request from being changed or used by anybody else."""
    return RequestStateBoundary(RequestStateSecurity(keys=[key]), default_audience=name)


class Questions:
    """Asks callers what their runs ask."""

    def __init__(self, reception: Reception, errands: Errands) -> None:
        self._reception = reception
        self._errands = errands

    async def asked(
        self, ctx: ServerRequestContext[Any, Any], caller: Caller, question: Question, given: Mapping[str, Any]
    ) -> mt.InputRequiredResult | None:
        """Have a question answered; None once it is, or what a modern client is to come again with.

        `given` are the answers that a modern request brought.
        """
        form, wrapped = form_of(as_json(question.schema))
        if form is None:
            await self._decided(caller, question, None, "what is asked for cannot be put into a form")
            return None
        key = key_of(question)
        if not is_modern(ctx):
            answer: Any = await ctx.session.elicit_form(as_text(question.message), form, ctx.request_id)
        elif isinstance(given.get(key), mt.ElicitResult):
            answer = given[key]
        else:
            params = mt.ElicitRequestFormParams(message=question.message, requested_schema=form)
            return mt.InputRequiredResult(
                input_requests={key: mt.ElicitRequest(params=params)}, request_state=question.run
            )
        if answer.action != "accept":
            await self._decided(caller, question, None, f"the caller's user chose to {answer.action}")
            return None
        content = answer.content or {}
        try:
            await self._decided(caller, question, content.get(ANSWER) if wrapped else content, "")
        except BadInput:
            if is_modern(ctx):
                return await self.asked(ctx, caller, question, {})
        return None

    async def _decided(self, caller: Caller, question: Question, value: Any, refused: str) -> None:
        try:
            if refused:
                await self._reception.at_home(self._errands.refuse, caller, question.id, refused)
            else:
                await self._reception.at_home(self._errands.answer, caller, question.id, value)
        except AlreadyDecided:  # the owner was quicker
            return


def key_of(question: Question) -> str:
    """The name of a question in a request: the title of its schema where that can be one, else its id."""
    title = question.schema.get("title")
    return title if isinstance(title, str) and _KEY.fullmatch(title) else question.id


def form_of(schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """A schema as a form of plain fields, and whether its value is one field of that; None where it cannot be one."""
    if _is_plain(schema):
        return {"type": "object", "properties": {ANSWER: dict(schema)}, "required": [ANSWER]}, True
    defs = schema.get("$defs", {})
    if schema.get("type") != "object":
        return None, False
    fields = {name: _resolved(field, defs) for name, field in schema.get("properties", {}).items()}
    if not fields or not all(_is_plain(field) for field in fields.values()):
        return None, False
    return {"type": "object", "properties": fields, "required": list(schema.get("required", ()))}, False


def _resolved(field: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    target = field.get("$ref", "").rpartition("/")[2]
    found = dict(field) if not target else {**defs.get(target, {}), **field}
    found.pop("$ref", None)
    return found


def _is_plain(field: Mapping[str, Any]) -> bool:
    """Whether a field is a text, a number, a yes or no, or a choice of texts: what forms can have."""
    if field.get("type") == "array":
        items = field.get("items", {})
        return "enum" in items or "anyOf" in items
    return field.get("type") in PLAIN
