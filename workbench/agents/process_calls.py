"""Process calls: a process as the function of a tool, which asks it and gives its reply.

- A definition is looked up in the run's bench, by what the model says or by what was fixed; a handle is called as it
  is, wherever its process lives.
- The arguments are those of the message: a type, a function that makes one, or a dict in which types stand for what
  the model says. Without any it is the message type of the process, else the message as such.
- The id of the call is that of the tool's, so a retry asks a durable process once. A process that has ended, refuses or
  cannot be reached is an error of the call.

Knows nothing of schemas' makers or of policy. Source: DESIGN 2, PROCESSES 2.8.
"""

from __future__ import annotations

import inspect
import re
import typing
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from workbench.agents.schema import face_of
from workbench.errors import BadInput, NotPlain
from workbench.plain import PLAIN, encode
from workbench.process.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.agents.context import ToolContext
    from workbench.process.handle import Handle

__all__ = ["caller_of", "is_durable"]

CONTEXT = "tool_context"
MESSAGE = "message"


def is_durable(process: Definition | Handle) -> bool:
    """Whether a call of the same id is answered once."""
    return hasattr(process, "key_of") or getattr(process, "key", None) is not None


def caller_of(
    process: Definition | Handle, message: Any, args: Mapping[str, Any], name: str | None
) -> Callable[..., Any]:
    """An async function with the parameters, name and docstring of a tool that calls the process.

    `message` says what is sent; `args` are those of the definition that are fixed. Raises: BadInput for arguments that
    the process does not have, names that are there twice, or a message that is none of these.
    """
    definition = process if isinstance(process, Definition) else getattr(process, "definition", None)
    called = name or _name_of(process if definition is None else definition)
    places = _places(process, args, called)
    asks, made = _message(definition, message, called)
    twice = [each.name for each in asks if each.name in {place.name for place in places}]
    if twice:
        raise BadInput(
            f"tool {called!r} has {twice[0]!r} in the message and among the arguments of the process; "
            f"fix it with args={{{twice[0]!r}: …}} or name it otherwise",
            tool=called,
            parameter=twice[0],
        )
    plain = definition is None or definition.shapes[0] is PLAIN

    async def call(**values: Any) -> Any:
        context: ToolContext = values.pop(CONTEXT)
        where = {place.name: values.pop(place.name) for place in places if place.name in values}
        # by its name, for the bench may know newer code of it
        handle = context.lookup(process.name, **args, **where) if isinstance(process, Definition) else process
        sent = made(values)
        return await context.call(called, handle, _plain(sent) if plain else sent, id=context.call_id)

    context = inspect.Parameter(CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation="ToolContext")
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*places, *asks)]
    call.__signature__ = inspect.Signature([*parameters, context])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = called
    call.__doc__ = _doc(definition, message) or f"Ask the process {called}."
    return call


def _name_of(process: Any) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", process.name).strip("_")
    return name[:64] or "process"


def _doc(definition: Definition | None, message: Any) -> str:
    if inspect.isfunction(message) and message.__doc__:
        return message.__doc__
    return (definition.__doc__ if definition is not None else None) or ""


def _places(process: Definition | Handle, args: Mapping[str, Any], name: str) -> list[inspect.Parameter]:
    """The arguments by which a definition is looked up and that are not fixed."""
    known: list[inspect.Parameter] = []
    if isinstance(process, Definition):
        first = next(iter(process.signature.parameters))
        known = [each for each in face_of(process.body, name).parameters if each.name != first]
    unknown = args.keys() - {each.name for each in known}
    if unknown:
        takes = f"takes {sorted(each.name for each in known)}" if known else "takes no arguments"
        raise BadInput(f"tool {name!r} fixes {sorted(unknown)[0]!r}, and its process {takes}", tool=name)
    return [each for each in known if each.name not in args]


def _message(
    definition: Definition | None, message: Any, name: str
) -> tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]:
    """The parameters that make a message, and how they do."""
    if isinstance(message, dict):
        asked = {key: part for key, part in message.items() if _is_type(part)}
        fixed = {key: part for key, part in message.items() if key not in asked}
        return [_parameter(key, part) for key, part in asked.items()], lambda values: {**fixed, **values}
    if inspect.isfunction(message) or inspect.ismethod(message):
        return face_of(message, name).parameters, lambda values: message(**values)
    kind = _declared(definition) if message is None else message
    if not _is_type(kind) and kind is not Any:
        raise BadInput(
            f"tool {name!r} has message={message!r}; give a type, a function that makes the message, or a dict with "
            'types for what the model says, e.g. {"type": "search", "query": str}',
            tool=name,
        )
    return [_parameter(MESSAGE, kind)], lambda values: values[MESSAGE]


def _declared(definition: Definition | None) -> Any:
    """The type of messages that a body declares: `ctx: Context[Message, State]`."""
    if definition is None:
        return Any
    first = next(iter(definition.signature.parameters))
    annotation = next((p.annotation for p in face_of(definition.body).parameters if p.name == first), None)
    types = typing.get_args(annotation)
    return types[0] if len(types) == 2 else Any


def _is_type(part: Any) -> bool:
    return isinstance(part, type) or typing.get_origin(part) is not None or part is Any


def _parameter(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind)


def _plain(message: Any) -> Any:
    """The message as plain data: models, dataclasses and Enums as their JSON, where no type could restore them."""
    try:
        encode(message, MESSAGE)
    except NotPlain:
        return to_jsonable_python(message)
    return message
