"""Resources over MCP: a caller's own runs and their journals, as JSON.

- `workbench://runs` is the list, `workbench://runs/{run}` how one stands, and `workbench://runs/{run}/journal` every
  message and step of it.
- Another's run is not found, in the words for one that never was.
- A journal is shown without tracebacks, without what went wrong inside, and without the agent's instructions.

Source: DESIGN 2, ENDPOINTS 5.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.shared.exceptions import MCPError

from workbench.endpoints.told import as_json
from workbench.errors import NoCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.errands import Errands
    from workbench.endpoints.service import Reception

__all__ = ["Resources"]

RUNS = "workbench://runs"
JSON = "application/json"
MOST = 100


class Resources:
    """Serves `resources/list`, `resources/templates/list` and `resources/read`."""

    def __init__(
        self,
        reception: Reception,
        errands: Errands,
        caller_of: Callable[[ServerRequestContext[Any, Any]], Caller],
    ) -> None:
        self._reception = reception
        self._errands = errands
        self._caller_of = caller_of

    def serve(self, server: Server[Any]) -> None:
        """Have a server serve them."""
        server.add_request_handler("resources/list", mt.PaginatedRequestParams, self._list)
        server.add_request_handler("resources/templates/list", mt.PaginatedRequestParams, self._templates)
        server.add_request_handler("resources/read", mt.ReadResourceRequestParams, self._read)

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: mt.PaginatedRequestParams
    ) -> mt.ListResourcesResult:
        runs = await self._reception.at_home(self._errands.runs, self._caller_of(ctx))
        listed = [mt.Resource(uri=RUNS, name="runs", title="The runs that you began", mime_type=JSON)]
        listed += [
            mt.Resource(uri=f"{RUNS}/{run.run}", name=run.run, title=f"{run.agent}: {run.status}", mime_type=JSON)
            for run in runs[:MOST]
        ]
        return mt.ListResourcesResult(resources=listed, ttl_ms=0, cache_scope="private")

    async def _templates(
        self, ctx: ServerRequestContext[Any, Any], params: mt.PaginatedRequestParams
    ) -> mt.ListResourceTemplatesResult:
        templates = [
            mt.ResourceTemplate(uri_template=f"{RUNS}/{{run}}", name="run", mime_type=JSON),
            mt.ResourceTemplate(uri_template=f"{RUNS}/{{run}}/journal", name="journal", mime_type=JSON),
        ]
        return mt.ListResourceTemplatesResult(resource_templates=templates, ttl_ms=0, cache_scope="private")

    async def _read(
        self, ctx: ServerRequestContext[Any, Any], params: mt.ReadResourceRequestParams
    ) -> mt.ReadResourceResult:
        uri, caller = str(params.uri), self._caller_of(ctx)
        try:
            value = await self._value(caller, uri)
        except NoCode:
            raise MCPError(mt.INVALID_PARAMS, f"Resource not found: {uri}", {"uri": uri}) from None
        self._reception.record(caller, f"read {uri}")
        text = json.dumps(as_json(value), ensure_ascii=False)
        contents = mt.TextResourceContents(uri=uri, mime_type=JSON, text=text)
        return mt.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

    async def _value(self, caller: Caller, uri: str) -> Any:
        """What a resource holds. Raises: NoCode when there is none."""
        if uri == RUNS:
            return [run.to_plain() for run in await self._reception.at_home(self._errands.runs, caller)]
        run, _, part = uri.removeprefix(f"{RUNS}/").partition("/")
        if not uri.startswith(f"{RUNS}/") or part not in ("", "journal"):
            raise NoCode(f"no resource {uri!r}", name=uri)
        if part == "journal":
            return await self._reception.at_home(self._errands.journal, caller, run)
        return (await self._reception.at_home(self._errands.standing, caller, run)).to_plain()
