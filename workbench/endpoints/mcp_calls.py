"""Calls over MCP: from a request to a run, and from the run to what its caller hears.

- A tool that is called is a run of its own; an agent that is asked is one too, waited for as long as the caller says,
  after which `get_run` has the rest.
- While nothing happens the caller hears so every five seconds: clients take silence for death.
- A caller that cancels cancels its run. A door that closes, a token that is revoked, a kernel that dies and a
  connection of a session that drops leave it at work.

Source: ENDPOINTS 1.7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.endpoints.catalogue import ANSWERING, Asking, Offer
from workbench.endpoints.mcp_questions import Questions, can_be_asked
from workbench.endpoints.mcp_results import of_answer, of_call, refusal
from workbench.endpoints.mcp_tasks import wants_tasks
from workbench.errors import BadInput, NoCode
from workbench.models.checks import problem_of, said_of
from workbench.words import as_text

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.catalogue import Catalogue
    from workbench.endpoints.errands import Errands, Standing
    from workbench.endpoints.mcp_tasks import Tasks
    from workbench.endpoints.service import Reception

__all__ = ["CALLER", "FOLLOW_UPS", "Calls", "caller_of"]

CALLER = "workbench.caller"  # the key of a scope under which its caller is
SILENCE = 5.0
"""Seconds after which a caller hears that its call is still at work."""


class Following(BaseModel):
    """What a run is followed with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run: str = Field(min_length=1, description="The id of a run that you began here.")
    wait_seconds: float = Field(0, ge=0, le=3600, description="How long to wait for its answer.")


class Cancelling(BaseModel):
    """What a run is cancelled with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run: str = Field(min_length=1, description="The id of a run that you began here.")


FOLLOW_UPS: Mapping[str, mt.Tool] = {
    "get_run": mt.Tool(
        name="get_run",
        description="How a run that you began stands, and its answer once there is one.",
        input_schema=Following.model_json_schema(),
        output_schema=ANSWERING,
        annotations=mt.ToolAnnotations(read_only_hint=True, idempotent_hint=True),
    ),
    "cancel_run": mt.Tool(
        name="cancel_run",
        description="Cancel a run that you began, for good.",
        input_schema=Cancelling.model_json_schema(),
        output_schema=ANSWERING,
        annotations=mt.ToolAnnotations(read_only_hint=False, idempotent_hint=True),
    ),
}
"""The tools of the door itself."""


def caller_of(ctx: ServerRequestContext[Any, Any]) -> Caller:
    """Who makes the request."""
    request: Any = ctx.request  # the SDK's own, which the edge's scope belongs to
    caller: Caller = request.scope[CALLER]
    return caller


class Calls:
    """Carries out `tools/call`."""

    def __init__(self, reception: Reception, errands: Errands, tasks: Tasks) -> None:
        self._reception = reception
        self._tasks = tasks
        self._errands = errands
        self._questions = Questions(reception, errands)
        self.catalogue: Catalogue = {}

    async def carry_out(
        self, ctx: ServerRequestContext[Any, Any], params: mt.CallToolRequestParams
    ) -> mt.CallToolResult | mt.InputRequiredResult | dict[str, Any]:
        """What came of a call, the task that it is, or what it needs to go on.

        Raises: MCPError for a tool that is not offered.
        """
        caller, args = caller_of(ctx), params.arguments or {}
        offer, follow_up = self.catalogue.get(params.name), FOLLOW_UPS.get(params.name)
        if offer is None and follow_up is None:
            raise MCPError(code=mt.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        try:
            if offer is None:
                return of_answer(await self._follow_up(ctx, caller, params.name, args))
            if offer.tool is None and wants_tasks(ctx):
                return await self._tasks.begun(caller, await self.begin(caller, offer, args))
            if offer.tool is None:
                return of_answer(await self._ask(ctx, caller, offer, args))
            return await self._call(ctx, caller, offer, params)
        except ValidationError as error:
            return refusal(f"{params.name}: {said_of([problem_of(one) for one in error.errors(include_url=False)])}")
        except (BadInput, NoCode) as error:
            return refusal(f"{params.name}: {error}")

    async def begin(self, caller: Caller, offer: Offer, args: Mapping[str, Any], *, asks: bool = False) -> str:
        """Begin the run that a call is; gives its id. Raises: BadInput, ValidationError, NoCode."""
        if offer.tool is not None:
            run = await self._reception.at_home(self._errands.call, caller, offer.agent, offer.tool, args, asks)
        else:
            asked = Asking.model_validate(args)
            run = await self._reception.at_home(
                self._errands.ask, caller, offer.agent, asked.message, asked.conversation
            )
        self._reception.record(caller, offer.name, run)
        return run

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], caller: Caller, offer: Offer, params: mt.CallToolRequestParams
    ) -> mt.CallToolResult | mt.InputRequiredResult:
        given = dict(params.input_responses or {})
        run = params.request_state or await self.begin(caller, offer, params.arguments or {}, asks=can_be_asked(ctx))
        while (standing := await self.follow(ctx, caller, run, None)).question is not None:
            needed = await self._questions.asked(ctx, caller, standing.question, given)
            if needed is not None:
                return needed
            given = {}
        return of_call(offer, standing)

    async def _ask(
        self, ctx: ServerRequestContext[Any, Any], caller: Caller, offer: Offer, args: Mapping[str, Any]
    ) -> Standing:
        seconds = Asking.model_validate(args).wait_seconds
        run = await self.begin(caller, offer, args)
        await ctx.session.report_progress(1, None, f"run {run} began")
        return await self.follow(ctx, caller, run, seconds, told=1)

    async def _follow_up(
        self, ctx: ServerRequestContext[Any, Any], caller: Caller, name: str, args: Mapping[str, Any]
    ) -> Standing:
        if name == "cancel_run":
            run, seconds = Cancelling.model_validate(args).run, None
        else:
            following = Following.model_validate(args)
            run, seconds = following.run, following.wait_seconds
        self._reception.record(caller, name, run)
        if seconds is None:
            return await self._reception.at_home(self._errands.cancel, caller, run)
        return await self.follow(ctx, caller, run, seconds, mine=False)

    async def follow(
        self,
        ctx: ServerRequestContext[Any, Any],
        caller: Caller,
        run: str,
        seconds: float | None,
        *,
        told: int = 0,
        mine: bool = True,
    ) -> Standing:
        """How a run stands once it is over, or after `seconds`; what it says meanwhile is progress of the request.

        A request that is cancelled cancels the run if it is the one that began it (`mine`).
        """
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(line: str) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        waiting = asyncio.ensure_future(self._reception.at_home(self._errands.wait, caller, run, seconds, tell))
        try:
            while not waiting.done() or not lines.empty():
                line = "still at work"
                with suppress(TimeoutError):
                    line = await _next(lines, waiting)
                if line:
                    told += 1
                    await ctx.session.report_progress(told, None, as_text(line))
            return waiting.result()
        except asyncio.CancelledError:
            if mine and not self._reception.shuts_out(caller):
                self._reception.leave_at_home(self._errands.cancel, caller, run)
            raise
        finally:
            waiting.cancel()


async def _next(lines: asyncio.Queue[str], over: asyncio.Future[Any]) -> str:
    """The next line, or "" once it is over. Raises: TimeoutError after a silence."""
    line = asyncio.ensure_future(lines.get())
    try:
        async with asyncio.timeout(SILENCE):
            await asyncio.wait((line, over), return_when=asyncio.FIRST_COMPLETED)
        return line.result() if line.done() else ""
    finally:
        line.cancel()
