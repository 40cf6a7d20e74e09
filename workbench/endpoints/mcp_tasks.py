"""Tasks over MCP: an agent that is asked is a task to a client that says it knows them: the run's id is the handle.

- A client that declares the extension is answered at once, and asks for the result later, also after a restart of the
  kernel; every other client gets the blocking form.
- A task is its caller's own: another's id is answered as unknown. One that failed is a completed task whose result says
  so.
- What a task waits for from a person is decided at the bench, never by the caller, so it only reads as working.

Source: SEP-2663 (extension io.modelcontextprotocol/tasks, 2026-07-28), ENDPOINTS 4.1.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.shared.exceptions import MCPError
from pydantic import Field

from workbench.endpoints.mcp_questions import is_modern
from workbench.endpoints.mcp_results import of_answer
from workbench.errors import NoCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.errands import Errands, Standing
    from workbench.endpoints.service import Reception

__all__ = ["EXTENSION", "Tasks", "wants_tasks"]

EXTENSION = "io.modelcontextprotocol/tasks"
POLL, KEPT = 1000, 30 * 86_400_000
"""Milliseconds between two questions about a task, and those for which it is kept: the default retention of a bench."""


class Named(mt.RequestParams):
    """What names a task."""

    task_id: str = Field(alias="taskId", min_length=1)


class Updated(Named):
    """What a client hands in for a task."""

    input_responses: dict[str, Any] = Field(default_factory=dict, alias="inputResponses")


def wants_tasks(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client says that it knows tasks."""
    capabilities = ctx.session.client_capabilities
    return is_modern(ctx) and capabilities is not None and EXTENSION in (capabilities.extensions or {})


class Tasks:
    """Serves `tasks/get`, `tasks/update` and `tasks/cancel`."""

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
        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", Named, self._get)
        server.add_request_handler("tasks/update", Updated, self._update)
        server.add_request_handler("tasks/cancel", Named, self._cancel)

    async def begun(self, caller: Caller, run: str) -> dict[str, Any]:
        """The handle of a run that began."""
        standing = await self._reception.at_home(self._errands.standing, caller, run)
        return {"resultType": "task", **_task(standing)}

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: Named) -> dict[str, Any]:
        standing = await self._standing(ctx, params)
        task = {"resultType": "complete", **_task(standing)}
        if standing.status in ("completed", "failed"):
            result = of_answer(standing)
            task["result"] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return task

    async def _update(self, ctx: ServerRequestContext[Any, Any], params: Updated) -> dict[str, Any]:
        await self._standing(ctx, params)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: ServerRequestContext[Any, Any], params: Named) -> dict[str, Any]:
        await self._standing(ctx, params)
        self._reception.leave_at_home(self._errands.cancel, self._caller_of(ctx), params.task_id)
        return {"resultType": "complete"}

    async def _standing(self, ctx: ServerRequestContext[Any, Any], params: Named) -> Standing:
        """How a task stands. Raises: MCPError for a client without tasks, a header of another, or no such task."""
        if not wants_tasks(ctx):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(mt.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client does not declare tasks", needed)
        request: Any = ctx.request  # the SDK's own
        if request.headers.get("mcp-name") not in (None, params.task_id):
            raise MCPError(mt.HEADER_MISMATCH, "Mcp-Name is not the task's id")
        try:
            return await self._reception.at_home(self._errands.standing, self._caller_of(ctx), params.task_id)
        except NoCode:
            raise MCPError(mt.INVALID_PARAMS, f"Unknown task: {params.task_id}") from None


def _task(standing: Standing) -> dict[str, Any]:
    status = {"waiting": "working", "failed": "completed"}.get(standing.status, standing.status)
    task = {
        "taskId": standing.run,
        "status": status,
        "createdAt": _iso(standing.began),
        "lastUpdatedAt": _iso(standing.changed),
        "ttlMs": KEPT,
        "pollIntervalMs": POLL,
    }
    return task | ({"statusMessage": standing.words} if standing.words else {})


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
