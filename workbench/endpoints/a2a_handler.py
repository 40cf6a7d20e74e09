"""The A2A request handler: what the protocol's methods do, over the runs of a bench.

- `message/send` begins a run and gives its task once it is over or waits for somebody, or after a while as `working`;
  the same message sent again is the same task. The run is the bench's: no request that ends takes it along.
- A message for a task that waits is no decision: people at the bench decide, and the task says so and stays as it is.
- What is not the caller's is not found. What goes wrong inside is told by a reference, never in its words.

Source: A2A 1.0, section 3 (operations); ENDPOINTS 2.2, 2.3 and 5. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NoReturn

from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types.a2a_pb2 import ListTasksResponse
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import (
    apply_history_length,
    decode_page_token,
    encode_page_token,
    validate_history_length,
    validate_page_size,
)

from workbench.endpoints.a2a_tasks import STATES, artifact_update, status_update, task_of, text_of
from workbench.endpoints.told import by_reference
from workbench.errors import BadInput, NoCode, RunError
from workbench.words import as_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from a2a.server.context import ServerCallContext
    from a2a.server.events.event_queue import Event
    from a2a.types import a2a_pb2 as pb

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.errands import Errands, Standing
    from workbench.endpoints.service import Reception

__all__ = ["CALLER", "Handler"]

CALLER = "workbench.caller"
"""Where the state of a call's context has its `Caller`."""

PATIENCE = 50.0
"""Seconds that a request which waits is held before its task is given as `working`: clients give up after 60."""

GLANCE = 1.0
"""Seconds that a look at a task waits for a busy bench before it gives what was seen last."""

SEEN = 1_000
"""Tasks of which the last look is kept."""


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose unexpected failure is logged under a reference, which is all that its caller hears."""

    @wraps(method)
    async def run(self: Handler, params: Any, context: ServerCallContext) -> Any:
        try:
            return await method(self, params, context)
        except Exception as error:
            _raise_as_told(error)

    return run


class Handler(RequestHandler):
    """Implements the SDK's `RequestHandler`. `agents` gives the names that can be asked, as they are now."""

    def __init__(self, reception: Reception, errands: Errands, agents: Callable[[], list[str]]) -> None:
        self._reception = reception
        self._errands = errands
        self._agents = agents
        self._seen: OrderedDict[tuple[str, str], Standing] = OrderedDict()

    @validate_request_params
    @guarded
    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task:
        """Begin a run, or look at the one that the message is for."""
        validate_history_length(params.configuration)
        caller, standing, fresh = await self._addressed(params, context)
        if fresh and not params.configuration.return_immediately:
            wait = partial(self._errands.wait, until_it_waits=True)
            standing = await self._reception.at_home(wait, caller, standing.run, PATIENCE, _ignore)
        return apply_history_length(self._noted(caller, standing), params.configuration)

    @validate_request_params
    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Begin a run, and tell what becomes of it."""
        try:
            caller, standing, fresh = await self._addressed(params, context)
            if fresh:  # whatever it came to meanwhile is told as it comes
                standing = replace(standing, status="working", words="")
            async for event in self._followed(caller, standing):
                yield event
        except Exception as error:
            _raise_as_told(error)

    @validate_request_params
    @guarded
    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task:
        """How a task stands; from the last look when the bench is busy."""
        validate_history_length(params)
        caller = context.state[CALLER]
        return apply_history_length(self._noted(caller, await self._glance(caller, params.id)), params)

    @guarded
    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """The caller's tasks, those that changed last first, a page of them."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        caller = context.state[CALLER]
        every = await self._reception.at_home(self._errands.runs, caller)
        fitting = [one for one in sorted(every, key=_place, reverse=True) if _fits(one, params)]
        start = _after(fitting, params.page_token)
        page = fitting[start : start + size]
        more = start + size < len(fitting)
        return ListTasksResponse(
            tasks=[apply_history_length(task_of(standing), params) for standing in page],
            next_page_token=encode_page_token(page[-1].run) if more else "",
            page_size=size,
            total_size=len(fitting),
        )

    @validate_request_params
    @guarded
    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task:
        """Cancel a task; what it was doing has stopped when this is answered."""
        caller = context.state[CALLER]
        standing = await self._standing(caller, params.id)
        if not standing.over:
            self._reception.record(caller, "tasks/cancel", params.id)
            try:
                standing = await self._reception.at_home(self._errands.cancel, caller, params.id)
            except RunError as error:
                raise TaskNotCancelableError(message=f"task {params.id} is not cancelled yet: {error}") from error
            if standing.status == "cancelled":
                return self._noted(caller, standing)
        raise TaskNotCancelableError(message=f"task {params.id} is {standing.status}; nothing is left to cancel")

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Tell what becomes of a task that is not over."""
        try:
            caller = context.state[CALLER]
            standing = await self._standing(caller, params.id)
            if standing.over:
                raise UnsupportedOperationError(message=f"task {params.id} is {standing.status}; nothing more follows")
            async for event in self._followed(caller, standing):
                yield event
        except Exception as error:
            _raise_as_told(error)

    async def on_create_task_push_notification_config(self, params: Any, context: ServerCallContext) -> NoReturn:
        """There are no push notifications."""
        raise PushNotificationNotSupportedError

    async def on_get_task_push_notification_config(self, params: Any, context: ServerCallContext) -> NoReturn:
        """There are no push notifications."""
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(self, params: Any, context: ServerCallContext) -> NoReturn:
        """There are no push notifications."""
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(self, params: Any, context: ServerCallContext) -> NoReturn:
        """There are no push notifications."""
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(self, params: Any, context: ServerCallContext) -> NoReturn:
        """The card that everybody gets is all there is."""
        raise ExtendedAgentCardNotConfiguredError

    # What the methods have in common.

    async def _addressed(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> tuple[Caller, Standing, bool]:
        """Whose run a message is for, how it stands, and whether it was begun by this message."""
        caller: Caller = context.state[CALLER]
        message = params.message
        if message.task_id:
            standing = await self._standing(caller, message.task_id)
            if message.context_id and message.context_id != (standing.conversation or standing.run):
                raise InvalidParamsError(message=f"task {message.task_id} is not of context {message.context_id}")
            if standing.over:
                raise UnsupportedOperationError(
                    message=f"task {standing.run} is {standing.status}; send without taskId to go on in its context"
                )
            return caller, standing, False
        agent, words = self._agent(params), _words(message)
        once = _once(caller, agent, message.message_id, message.context_id, words)
        context_id = message.context_id or f"context-{once}"
        id = await self._reception.at_home(partial(self._errands.ask, once=once), caller, agent, words, context_id)
        self._reception.record(caller, f"message to {agent}", id)
        return caller, await self._standing(caller, id), True

    def _agent(self, params: pb.SendMessageRequest) -> str:
        """Who is asked: the skill that the request names, else the only one or the door's own choice."""
        names = self._agents()
        asked = _skill(params.metadata) or _skill(params.message.metadata) or self._reception.default_agent
        if asked is None and len(names) == 1:
            return names[0]
        if asked not in names:
            known = ", ".join(names) or "none"
            raise InvalidParamsError(message=f"no skill {asked!r}; name one in metadata.skill, there are {known}")
        return str(asked)

    async def _followed(self, caller: Caller, standing: Standing) -> AsyncIterator[Event]:
        """A task, and what becomes of it until it is over or waits."""
        yield self._noted(caller, standing)
        if standing.over or standing.status == "waiting":
            return
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(line: str | None) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        wait = partial(self._errands.wait, until_it_waits=True)
        waiting = asyncio.ensure_future(self._reception.at_home(wait, caller, standing.run, None, tell))
        waiting.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await lines.get()) is not None:
                yield status_update(standing, line)
            standing = await waiting
        finally:
            waiting.cancel()
        self._noted(caller, standing)
        if standing.status == "completed":
            yield artifact_update(standing)
        yield status_update(standing)

    async def _standing(self, caller: Caller, id: str) -> Standing:
        try:
            return await self._reception.at_home(self._errands.standing, caller, id)
        except NoCode as error:
            raise TaskNotFoundError(message=f"task {id} was not found") from error

    async def _glance(self, caller: Caller, id: str) -> Standing:
        """How a run stands, or stood when it was last seen if the bench is in a cell just now."""
        looking = asyncio.ensure_future(self._standing(caller, id))
        await asyncio.wait([looking], timeout=GLANCE)
        seen = self._seen.get((str(caller), id))
        if not looking.done() and seen is not None:
            looking.cancel()
            return seen
        return await looking

    def _noted(self, caller: Caller, standing: Standing) -> pb.Task:
        """The task of a run, which is kept as what was seen last."""
        place = str(caller), standing.run
        self._seen[place] = standing
        self._seen.move_to_end(place)
        if len(self._seen) > SEEN:
            self._seen.popitem(last=False)
        return task_of(standing)


def _raise_as_told(error: Exception) -> NoReturn:
    """Raise what the caller may hear of an error."""
    if isinstance(error, A2AError):
        raise error
    if isinstance(error, BadInput):
        raise InvalidParamsError(message=as_text(str(error))) from error
    raise InternalError(message=by_reference(error, "a request over A2A")) from None


def _words(message: pb.Message) -> str:
    if any(part.HasField("raw") or part.HasField("url") for part in message.parts):
        raise ContentTypeNotSupportedError(message="agents here take text and data, no files")
    words = text_of(message)
    if not words:
        raise InvalidParamsError(message="the message has no text; give it a part with one")
    return words


def _skill(metadata: Any) -> str | None:
    asked = dict(metadata).get("skill")
    return asked if isinstance(asked, str) and asked else None


def _once(*parts: object) -> str:
    """What names the run of one message, however often it is sent."""
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _place(standing: Standing) -> tuple[float, str]:
    return standing.changed, standing.run


def _fits(standing: Standing, params: pb.ListTasksRequest) -> bool:
    if params.context_id and params.context_id != (standing.conversation or standing.run):
        return False
    if params.status and STATES[standing.status] != params.status:
        return False
    return not (
        params.HasField("status_timestamp_after")
        and standing.changed <= params.status_timestamp_after.ToMicroseconds() / 1e6
    )


def _after(standings: list[Standing], token: str) -> int:
    """Where the page that a token names begins. Raises: InvalidParamsError for a token of no page."""
    if not token:
        return 0
    last = decode_page_token(token)
    for at, standing in enumerate(standings):
        if standing.run == last:
            return at + 1
    raise InvalidParamsError(message="the page token names no page here; list from the start")


def _ignore(line: str) -> None:
    """Tell nobody."""
