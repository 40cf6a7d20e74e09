"""Durable units: the model library's durability surface, filled with a recorder of ours.

Loaded at the first run of a durable agent, since it imports the library. What is asked of it here is public:
`pydantic_ai.durable_exec`, whose guide to durable backends is the source.

A part of the embassy of the model library (`workbench.models.library`). Knows nothing of journals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationBackend,
    ModelRequestId,
    ToolsetCallToolId,
    conversation_id_from_run_id,
    durable_unit_scope,
)
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import DeferredToolResults, ToolApproved, ToolDenied

from workbench.models.durability import Deferred, Refused, current_recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.models.durability import Body, Recorder

__all__ = ["Durability"]

KEY = "workbench"
"""The key of a tool's metadata that is ours: `{"workbench": {"idempotent": True}}`."""


class Operation:
    """One unit of work, recorded."""

    def __init__(self, operation: Any) -> None:
        self.operation = operation

    async def __call__(self, params: Any, *, config: Any = None) -> Any:
        operation, recorder = self.operation, current_recorder.get()
        if recorder is None:
            return await operation.handler(params)

        async def body() -> Any:
            with durable_unit_scope():
                return operation.result_codec.dump(await operation.handler(params))

        return operation.result_codec.load(await self._recorded(recorder, params, config or {}, body))

    async def _recorded(self, recorder: Recorder, params: Any, config: Mapping[str, Any], body: Body) -> Any:
        kind = self.operation.operation_id
        context = getattr(params, "ctx", None) or getattr(params, "run_context", None)
        call = getattr(context, "tool_call_id", None)
        if isinstance(kind, ModelRequestId) and not kind.streaming and call is None:
            return await recorder.turn(body)
        if isinstance(kind, ToolsetCallToolId) and call is not None:
            again = bool(config.get("idempotent") or config.get("read_only"))
            try:
                return await recorder.call(call, params.name, params.tool_args, again, body)
            except Refused as refused:
                raise ToolFailed(str(refused)) from None
        return await recorder.other(type(kind).__name__.removesuffix("Id"), call, body)


class Backend(DurableOperationBackend[Any]):
    """What units of work are bound with: nothing is prepared, each is recorded when it is done."""

    def bind(self, operation: Any) -> Any:
        """The unit that carries an operation out."""
        return Operation(operation)

    def config_for_tool(self, operation: Any, *, tool: Any, tool_name: str) -> Any:
        """What the metadata of a tool says to us."""
        metadata = getattr(getattr(tool, "tool_def", None), "metadata", None) or {}
        return dict(metadata.get(KEY) or {})

    def registrations(self) -> tuple[()]:
        """Nothing is registered beforehand."""
        return ()


class Durability(BaseDurabilityCapability[Any]):
    """The capability of one run: what happens in it is kept by the current recorder."""

    engine_spec = DurabilityEngineSpec(
        engine_name="workbench",
        durable_unit_noun="step",
        durable_container_noun="run",
        codec=JSON_CODEC,
        tool_config_key=KEY,
    )

    @property
    def in_durable_context(self) -> bool:
        """Whether the current task belongs to a run that is recorded."""
        return current_recorder.get() is not None

    def get_durable_operation_backend(self) -> Backend:
        """How units of work are carried out."""
        return Backend()

    def get_default_conversation_id(self, run_id: str) -> str:
        """The same in every life of the run."""
        return conversation_id_from_run_id(run_id)

    async def handle_deferred_tool_calls(self, ctx: Any, *, requests: Any) -> Any:
        """Ask the recorder about calls that need a person, all at once."""
        recorder = current_recorder.get()
        if recorder is None:
            return None
        asked = [
            Deferred(part.tool_call_id, part.tool_name, part.args_as_dict(), elsewhere)
            for elsewhere, parts in ((False, requests.approvals), (True, requests.calls))
            for part in parts
        ]
        verdicts = await recorder.decide(asked)
        results = DeferredToolResults()
        for each in asked:
            verdict = verdicts[each.id]
            if each.elsewhere:
                results.calls[each.id] = verdict.result if verdict.refusal is None else verdict.refusal
            elif verdict.refusal is not None:
                results.approvals[each.id] = ToolDenied(verdict.refusal)
            else:
                results.approvals[each.id] = ToolApproved(override_args=verdict.args)
        return results
