"""Tools: functions that an agent may call, with what the engine must know to call them safely.

- Any callable can be one. Its schema is made when the tool is made, so a mistake shows in the cell that has it.
- Arguments are what a stranger sent until `validate` has turned them into real values; nothing runs before that.
- `needs_approval` fails closed: arguments that do not fit or hold what is no number, a predicate that raises, or one
  that answers anything but False, ask a person.
- A tool stays callable as the function it is.

Where a tool runs (the loop, a thread) and what is journaled is the engine's business; this file knows nothing of runs.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from workbench.agents.process_calls import caller_of, is_durable
from workbench.agents.schema import Face, face_of
from workbench.errors import BadInput, Signal
from workbench.given import duration
from workbench.models.checks import arguments_invalid, is_finite
from workbench.models.library import function_schema
from workbench.models.model import ToolSpec
from workbench.models.schemas import check_schema, misfits
from workbench.process.definition import Definition
from workbench.process.handle import Handle

if TYPE_CHECKING:
    from datetime import timedelta

    from workbench.agents.context import ToolContext
    from workbench.agents.delegates import Part

__all__ = ["Approval", "Tool", "as_tool", "tool", "toolset"]

Approval = bool | Callable[[dict[str, Any]], bool]
Validator = Callable[[dict[str, Any]], dict[str, Any]]


class Tool:
    """A callable with its schema and its policy. Made by `tool`, `as_tool` or `Tool.from_schema`.

    `read_only`: changes nothing, so it may run again. `idempotent`: running it again under the same call id
    does no more than once. `destructive`: whether what it changes may be lost, None where nobody said. `expires`:
    seconds that its approval waits for a person, None for as long as it takes. `expose`: whether doors may list and
    run it. `timeout` is in seconds. `returns` is the
    declared type of the result, Any where there is none. `takes_context` is the name of the parameter that gets the
    `ToolContext`, or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        face: Face,
        *,
        description: str,
        parameters: dict[str, Any],
        validator: Validator,
        read_only: bool = False,
        idempotent: bool = False,
        approval: Approval = False,
        destructive: bool | None = None,
        expires: float | timedelta | None = None,
        expose: bool = True,
        timeout: float | None = None,
        as_dict: bool = False,
    ) -> None:
        _check_flags(face.name, read_only=read_only, idempotent=idempotent, expose=expose)
        if destructive is not None:
            _check_flags(face.name, destructive=destructive)
        if not isinstance(description, str):
            raise BadInput(
                f"the description of tool {face.name!r} is a text, found {description!r:.80}", tool=face.name
            )
        self.function = function
        self.name = face.name
        self.description = description
        self.parameters = parameters
        self.read_only = read_only
        self.idempotent = idempotent
        self.approval = _checked(approval, face.name)
        self.destructive = destructive
        self.expires = duration(f"the expiry of tool {face.name!r}", expires)
        self.expose = expose
        self.timeout = duration(f"the timeout of tool {face.name!r}", timeout)
        self.returns = face.returns
        self.is_async = face.is_async
        self.takes_context = face.context
        self.definition: Definition | None = None
        """The process that it calls, where a definition of one was given."""
        self.part: Part | None = None
        """The agent behind it and what becomes of a run that calls it, where there is one."""
        self._face = face
        self._validator = validator
        self._as_dict = as_dict
        self.__name__ = face.name
        self.__doc__ = inspect.getdoc(function) or description

    @classmethod
    def from_schema(
        cls,
        function: Callable[..., Any],
        name: str,
        description: str,
        parameters: dict[str, Any],
        *,
        validator: Validator | None = None,
        **policy: Any,
    ) -> Tool:
        """A tool whose JSON schema came from elsewhere, such as another server.

        `function` gets the arguments as one dict, checked by `validator`, else by the schema, and the context where it
        has a parameter `ctx: ToolContext`. Raises: BadInput when the schema is none, or none of an object.
        """
        if parameters.get("type") != "object":
            raise BadInput(
                f"the schema of tool {name!r} is of type {parameters.get('type')!r}; a tool takes an object", tool=name
            )

        check_schema(parameters, f"tool {name!r}")

        def validate(args: dict[str, Any]) -> dict[str, Any]:
            if problems := misfits(parameters, args, f"tool {name!r}"):
                raise arguments_invalid(name, problems)
            return args

        face = face_of(function, name)
        return cls(
            function,
            face,
            description=description,
            parameters=parameters,
            validator=validator or validate,
            as_dict=True,
            **policy,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        marks = [mark for mark in ("read_only", "idempotent") if getattr(self, mark)]
        marks += ["approval"] if self.approval else []
        return f"<tool {self.name}({', '.join(self.parameters.get('properties', {}))}){' '.join(['', *marks])}>"

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def validate(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as real values (models, dates, enums), by parameter, defaults included.

        Raises: ToolArgumentsInvalid naming tool, parameter, what was found and what was expected.
        """
        if not isinstance(args, Mapping):
            raise arguments_invalid(
                self.name, [{"parameter": "arguments", "found": repr(args)[:80], "expected": "an object"}]
            )
        return self._validator(dict(args))

    def needs_approval(self, args: Mapping[str, Any]) -> bool:
        """Whether a person must say yes to a call with these arguments. True whenever that cannot be told."""
        if isinstance(self.approval, bool):
            return self.approval
        try:
            values = self.validate(args)
            answer: object = not (is_finite(args) and is_finite(values)) or self.approval(values)
        except (KeyboardInterrupt, Signal):
            raise
        except BaseException:  # a predicate that fails asks, whatever with: DESIGN rule 12
            return True
        if inspect.iscoroutine(answer):
            answer.close()
        return answer is not False

    def bind(self, values: dict[str, Any], ctx: ToolContext | None) -> Callable[[], Any]:
        """The call with the values that `validate` gave, ready to run anywhere."""
        if self._as_dict:
            named = {} if self.takes_context is None else {self.takes_context: ctx}
            return lambda: self.function(values, **named)
        positional, named = _arranged(self._face, values, ctx)
        return lambda: self.function(*positional, **named)

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext | None) -> Any:
        """Check the arguments and run the call here, on the loop. Raises: ToolArgumentsInvalid.

        A plain function holds the loop meanwhile: the engine runs `bind` in a thread instead.
        """
        result = self.bind(self.validate(args), ctx)()
        return await result if inspect.isawaitable(result) else result


@overload
def tool(function: Callable[..., Any] | Definition | Handle, /) -> Tool: ...


@overload
def tool(
    *,
    message: Any = ...,
    args: Mapping[str, Any] | None = ...,
    read_only: bool = ...,
    idempotent: bool = ...,
    approval: Approval = ...,
    destructive: bool | None = ...,
    expires: float | timedelta | None = ...,
    expose: bool = ...,
    name: str | None = ...,
    description: str | None = ...,
    timeout: float | None = ...,
) -> Callable[[Callable[..., Any] | Definition | Handle], Tool]: ...


def tool(function: Callable[..., Any] | Definition | Handle | None = None, /, **options: Any) -> Any:
    """Make a function or a process a tool: `@tool`, or `@tool(read_only=True, …)` with the options of `as_tool`."""
    if function is not None:
        return as_tool(function)
    return lambda function: as_tool(function, **options)


def as_tool(
    function: Callable[..., Any] | Definition | Handle,
    *,
    message: Any = None,
    args: Mapping[str, Any] | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    approval: Approval = False,
    destructive: bool | None = None,
    expires: float | timedelta | None = None,
    expose: bool = True,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
) -> Tool:
    """Any callable, or a process, as a tool; a tool stays the tool it is.

    A callable that yields tells its progress: a text at once, any other value when the next one comes. Its result is
    what it returns, else what it yielded last.

    A process is a definition, which is looked up in the run's bench by its arguments (those in `args` are fixed, the
    model says the others), or a handle. It is called with a message: of the type `message`, made by the function
    `message` of its arguments, or the dict `message` in which types stand for what the model says; without one, of the
    type that the process declares. A durable one is asked once, however often the call is retried.

    Raises: BadInput naming the tool, the parameter and the remedy when no schema can be made.
    """
    if isinstance(function, Tool):
        return function
    definition: Definition | None = None
    if isinstance(function, Definition | Handle):
        definition = function if isinstance(function, Definition) else None
        idempotent = idempotent or is_durable(function)
        function = caller_of(function, message, args or {}, name)
    elif message is not None or args is not None:
        raise BadInput(f"message= and args= are for a process that is a tool, found {function!r}")
    face = face_of(function, name)
    schema = function_schema(face.function(), {p.name: p.annotation for p in face.parameters})
    _warn_of_lost_descriptions(face, schema.parameters)
    made = Tool(
        function,
        face,
        description=schema.description if description is None else description,
        parameters=schema.parameters,
        validator=schema.validate,
        read_only=read_only,
        idempotent=idempotent,
        approval=approval,
        destructive=destructive,
        expires=expires,
        expose=expose,
        timeout=timeout,
    )
    made.definition = definition
    return made


def toolset(tools: Iterable[Any]) -> dict[str, Tool]:
    """Tools by name. Raises: BadInput when two have one name."""
    by_name: dict[str, Tool] = {}
    for each in tools:
        made = as_tool(each)
        if made.name in by_name:
            raise BadInput(
                f"two tools are called {made.name!r}; give one of them another name with as_tool(…, name=…)",
                tool=made.name,
            )
        by_name[made.name] = made
    return by_name


def _checked(approval: Approval, name: str) -> Approval:
    if inspect.iscoroutinefunction(approval):
        raise BadInput(
            f"the approval predicate of tool {name!r} is async; give a plain function of the arguments", tool=name
        )
    if not isinstance(approval, bool) and not callable(approval):
        raise BadInput(
            f"tool {name!r} has approval={approval!r}; give True, False, or a function of the arguments",
            tool=name,
        )
    return approval


def _check_flags(tool: str, **flags: object) -> None:
    """Raises: BadInput for a flag that is no truth value: "no" would say yes."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise BadInput(f"{name} of tool {tool!r} is True or False, found {flag!r:.80}", tool=tool)


def _arranged(face: Face, values: dict[str, Any], ctx: ToolContext | None) -> tuple[list[Any], dict[str, Any]]:
    """Checked values as the function takes them: by place up to the first that is left out, then by name."""
    left = dict(values)
    if face.context is not None:
        left[face.context] = ctx
    positional: list[Any] = []
    named: dict[str, Any] = {}
    gap = False
    for parameter in face.signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += left.pop(parameter.name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= left
        elif parameter.name not in left:
            gap = True
        elif parameter.kind is parameter.KEYWORD_ONLY or gap:
            named[parameter.name] = left.pop(parameter.name)
        else:
            positional.append(left.pop(parameter.name))
    return positional, named


def _warn_of_lost_descriptions(face: Face, parameters: dict[str, Any]) -> None:
    """Warn once when the docstring speaks of parameters and the schema says nothing about them."""
    properties = parameters.get("properties", {})
    lost = [
        name
        for name in (p.name for p in face.parameters)
        if name in properties
        and "description" not in properties[name]
        and re.search(
            rf"^\s*(?:[-*@:]\s*)?(?:param\s+)?(?:\w+\s+)?`?{re.escape(name)}`?\s*(?:\([^)]*\))?\s*(?::|--)\s",
            face.doc,
            re.MULTILINE,
        )
    ]
    if lost:
        warnings.warn(
            f"tool {face.name!r} describes {', '.join(lost)} in its docstring in a layout that cannot be read; "
            "list parameters under 'Args:', indented, as 'name: what it is'",
            UserWarning,
            stacklevel=_levels_to_caller(),
        )


def _levels_to_caller() -> int:
    """How far up the first caller outside this file is, as `warnings.warn` counts from who calls this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame, level = frame.f_back, level + 1
    return level
