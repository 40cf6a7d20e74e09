"""The embassy of the model library's tools: its `Tool`, toolsets and agents, as a list of things that can be called.

- Nothing of it is imported before one of its own is handed over, and none of its types leaves this file.
- A set is listed and called as that library would: its `prepare` functions, validators, prefixes and filters hold. The
  run context is made by hand, with the caller's `deps`; the library's loop is never used.
- Its approval flags do nothing here: whoever calls must ask first (`asks`), and says so with `approved`.

Source: AGENTS 1.6 (Interop).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.errors import BadInput
from workbench.models.checks import arguments_invalid, problem_of

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

__all__ = ["ForeignTool", "is_foreign", "list_now", "list_tools", "verdict", "wants_run_context"]

T = TypeVar("T")
_LIBRARY = "pydantic_ai"
_IN_PROCESS = frozenset(("FunctionToolset", "ExternalToolset"))


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """A tool of the library. `asks`: a person must say yes first; `elsewhere`: its result comes from outside.

    `check(args)` gives real values, or raises ToolArgumentsInvalid; `call(values, call_id, approved)` gives the
    result. `timeout` is in seconds.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    asks: bool
    elsewhere: bool
    timeout: float | None
    hints: dict[str, Any]
    check: Callable[[dict[str, Any]], dict[str, Any]]
    call: Callable[[dict[str, Any], str, bool], Coroutine[Any, Any, Any]]


def is_foreign(value: object) -> bool:
    """Whether `value` is a tool, a toolset or an agent of the library; imports nothing to find out."""
    return any(_is_named(kind, "Tool", "AbstractToolset", "AbstractAgent") for kind in type(value).__mro__)


def wants_run_context(function: object) -> bool:
    """Whether a function takes the library's run context first, as its tools do."""
    if not inspect.isroutine(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:  # a builtin that says nothing of itself
        return False
    kind = getattr(first, "annotation", None)
    if isinstance(kind, str):
        return kind.rpartition("[")[0].endswith("RunContext") or kind.endswith("RunContext")
    return _is_named(getattr(kind, "__origin__", kind), "RunContext")


def verdict(error: BaseException) -> tuple[str, str] | None:
    """What an exception of the library says of a call: asks, retried or failed, with the words; None for any other."""
    names = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.partition(".")[0] == _LIBRARY}
    if "ApprovalRequired" in names:
        return "asks", _reason(error)
    if names & {"ModelRetry", "ToolRetryError"}:
        return "retried", str(error)
    if "CallDeferred" in names:
        return "failed", (
            "the result of this call comes from elsewhere (CallDeferred), and a run does not wait for it; "
            "give the tool requires_approval=True and answer its request with the result"
        )
    return None


async def list_tools(value: Any, deps: Any = None) -> list[ForeignTool]:
    """The tools of a toolset, an agent, a tool or a function that takes a run context, listed now.

    Raises: BadInput when it cannot list them.
    """
    from pydantic_ai.exceptions import UserError

    context = _context(deps)
    found: list[ForeignTool] = []
    for given in _toolsets(value):
        try:
            toolset = await (await given.for_run(context)).for_run_step(context)
            found += [_foreign(each, toolset, deps) for each in (await toolset.get_tools(context)).values()]
        except UserError as error:
            raise BadInput(f"the tools of {given.label} cannot be listed: {error}") from error
    return found


def list_now(value: Any) -> list[ForeignTool]:
    """The tools of what needs no connection to list them.

    Raises: BadInput for a toolset that does, naming the remedy.
    """
    for toolset in _toolsets(value):
        leaves: list[Any] = []
        toolset.apply(leaves.append)
        far = [leaf for leaf in leaves if not any(_is_named(kind, *_IN_PROCESS) for kind in type(leaf).__mro__)]
        if far:
            raise BadInput(
                f"{far[0].label} says only over a connection which tools it has; "
                "write tools=await tools_of(toolset), from workbench.agents.foreign"
            )
    return _apart(list_tools(value))


def _apart(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that needs no loop of ours: it runs on one of its own, in a thread."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def _toolsets(value: Any) -> list[AbstractToolset[Any]]:
    from pydantic_ai import Tool
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

    if isinstance(value, AbstractToolset):
        return [value]
    if hasattr(value, "toolsets"):
        return list(value.toolsets)
    try:
        return [FunctionToolset([value if isinstance(value, Tool) else Tool(value)])]
    except UserError as error:
        raise BadInput(f"{value!r} cannot be a tool: {error}") from error


def _context(deps: Any, **fields: Any) -> RunContext[Any]:
    from pydantic_ai import RunContext
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage

    return RunContext(deps=deps, model=TestModel(), usage=RunUsage(), **fields)


def _foreign(tool: ToolsetTool[Any], toolset: AbstractToolset[Any], deps: Any) -> ForeignTool:
    """One tool of a set, called through all that is wrapped around it."""
    made = tool.tool_def

    def check(args: dict[str, Any]) -> dict[str, Any]:
        from pydantic import ValidationError

        try:
            values: dict[str, Any] = tool.args_validator.validate_python(args)
        except ValidationError as error:
            raise arguments_invalid(
                made.name, [problem_of(each) for each in error.errors(include_url=False)]
            ) from error
        return values

    async def call(values: dict[str, Any], call_id: str, approved: bool) -> Any:
        from pydantic_ai.messages import ToolReturn

        run = _context(deps, tool_call_id=call_id, tool_name=made.name, tool_call_approved=approved)
        if tool.args_validator_func is not None:
            said = tool.args_validator_func(run, **values)
            if inspect.isawaitable(said):
                await said
        result = await toolset.call_tool(made.name, values, run, tool)
        return result.return_value if isinstance(result, ToolReturn) else result

    return ForeignTool(
        name=made.name,
        description=made.description or "",
        parameters=made.parameters_json_schema,
        asks=made.kind in ("unapproved", "external"),
        elsewhere=made.kind == "external",
        timeout=made.timeout,
        hints=dict((made.metadata or {}).get("annotations") or {}),
        check=check,
        call=call,
    )


def _is_named(kind: object, *names: str) -> bool:
    module = str(getattr(kind, "__module__", ""))
    return module.partition(".")[0] == _LIBRARY and getattr(kind, "__name__", "") in names


def _reason(error: Any) -> str:
    metadata = error.metadata or {}
    return ", ".join(f"{name}: {value}" for name, value in metadata.items())
