"""Faces: any callable as the function that a schema can be made of, and a docstring as its parser wants it.

- Partials, callable objects, methods, wrapped and cached functions and lambdas get a name and real types; a bound
  parameter leaves the schema, and so does the tool's context.
- Annotations written as text are resolved where the function was defined: its globals, its closure, and the functions
  around it while they run. What cannot be resolved is refused when the tool is made, naming tool, parameter and
  remedy; never later, in the middle of a run.
- What yields has the type of its result: what it returns, else what it yields.
- What cannot be a tool (a class, an unbound method) is refused with the reason.

Knows nothing of the model library, approvals or runs. Source: AGENTS 1.6.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import typing
from collections import abc
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from workbench.errors import BadInput

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Face", "face_of", "tidy"]

_CONTEXT = "ToolContext"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECTION = re.compile(
    r"(args|arguments|params|parameters|keyword args|keyword arguments|other args|other arguments|other parameters"
    r"|returns?|yields|raises|examples?|notes?|attributes|see also|warnings?):\s*",
    re.IGNORECASE,
)
_YIELDS = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_ASYNC = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
_STREAMS = (abc.Generator, abc.AsyncGenerator, abc.Iterator, abc.AsyncIterator)
_ITEM = re.compile(r"\*{0,2}\w+(\s*\([^)]*\))?\s*:\s")


@dataclass(frozen=True, slots=True)
class Face:
    """What a callable looks like as a tool. `context` names the parameter that takes it, not in `parameters`."""

    name: str
    doc: str
    parameters: list[inspect.Parameter]
    signature: inspect.Signature
    context: str | None
    returns: Any
    is_async: bool

    def function(self) -> Callable[..., Any]:
        """A function with this name, docstring and signature, for a schema generator to look at; it is never called."""

        def face() -> None:
            raise NotImplementedError(f"the face of {self.name!r} is for looking at only")

        face.__name__ = face.__qualname__ = self.name
        face.__doc__ = self.doc or None
        face.__signature__ = inspect.Signature(self.parameters)  # type: ignore[attr-defined]
        face.__annotations__ = {p.name: p.annotation for p in self.parameters if p.annotation is not p.empty}
        return face


def face_of(function: Callable[..., Any], name: str | None = None) -> Face:
    """The face of a callable. Raises: BadInput when it cannot be a tool, saying what to do instead."""
    if not callable(function):
        raise BadInput(f"{function!r} cannot be called; a tool is a function or another callable")
    try:
        return _face_of(function, name)
    except BadInput:
        raise
    except Exception as error:  # an object may answer anything when it is looked at
        raise BadInput(
            f"an object of {type(function).__qualname__!r} cannot be looked at as a tool "
            f"({type(error).__qualname__}: {error}); wrap it in a def with annotated parameters"
        ) from error


def _face_of(function: Callable[..., Any], name: str | None) -> Face:
    called = _named(function, name)
    _refuse(function, called)
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"tool {called!r} has no signature to make a schema of; wrap it in a def with annotated parameters"
        ) from error
    scope = _Scope(function, called)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    resolved = [_resolved(parameter, scope) for parameter in signature.parameters.values()]
    contexts = [p.name for p in resolved if p.annotation is scope.context]
    if len(contexts) > 1:
        raise BadInput(
            f"tool {called!r} has two parameters for its context, {contexts[0]!r} and {contexts[1]!r}; keep one"
        )
    return Face(
        name=called,
        doc=tidy(_doc(function)),
        parameters=[p for p in resolved if p.name not in bound and p.name not in contexts],
        signature=signature,
        context=contexts[0] if contexts else None,
        returns=_of_its_result(scope.returns(signature.return_annotation), yields=_is(function, _YIELDS)),
        is_async=_is(function, _ASYNC),
    )


def tidy(doc: str) -> str:
    """A docstring with a blank line before each section and its items indented below, or parsers lose descriptions."""
    lines: list[str] = []
    in_section = False
    for line in inspect.cleandoc(doc).splitlines():
        indented = line[:1].isspace()
        if _SECTION.fullmatch(line):
            lines += ["", line] if lines and lines[-1] else [line]
            in_section = True
        elif in_section and not line.strip():
            if not _SECTION.fullmatch(lines[-1]):
                lines.append("")
        elif in_section and not indented and _ITEM.match(line):
            lines.append("    " + line)
        elif in_section and not indented:
            lines += ["", line] if lines[-1] else [line]
            in_section = False
        else:
            starts_fields = line.startswith(":") and lines and lines[-1] and not lines[-1].startswith(":")
            underlined = re.fullmatch(r"-{3,}", line) and len(lines) > 1 and lines[-2]
            if starts_fields:
                lines.append("")
            elif underlined:
                lines.insert(-1, "")
            lines.append(line)
    return "\n" + "\n".join(lines) + "\n" if lines else ""


class _Scope:
    """Where the annotations of a callable mean something."""

    context: Any = type(_CONTEXT, (), {})  # stands for the context, whose own module is above this one

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        self.tool = tool
        core = _core(function)
        self.globals: dict[str, Any] = getattr(core, "__globals__", {})
        self.locals = dict(_enclosing(core))

    def resolve(self, annotation: Any, parameter: str) -> Any:
        """The type that an annotation is. Raises: BadInput naming tool, parameter and remedy."""
        if _is_context(annotation):
            return self.context
        if _has_text(annotation):
            annotation = self._evaluate(annotation, parameter)
        return self.context if _is_context(annotation) else annotation

    def returns(self, annotation: Any) -> Any:
        """The return type; Any where there is none, or none that is known when the tool is made."""
        if annotation is inspect.Signature.empty:
            return Any
        try:
            return self.resolve(annotation, "return")
        except BadInput:
            return Any

    def _evaluate(self, annotation: Any, parameter: str) -> Any:
        holder = types.SimpleNamespace(__annotations__={parameter: annotation})
        try:
            hints = typing.get_type_hints(holder, self.globals, self.locals, include_extras=True)
        except Exception as error:
            what = annotation if isinstance(annotation, str) else repr(annotation)
            raise BadInput(
                f"tool {self.tool!r} has a parameter {parameter!r} of type {what!r}, which cannot be resolved here "
                f"({error}); define the type at module level or above the tool, or annotate with the type itself",
                tool=self.tool,
                parameter=parameter,
            ) from error
        return hints[parameter]


def _named(function: Any, name: str | None) -> str:
    core = function
    while isinstance(core, functools.partial):
        core = core.func
    called = (
        name or getattr(core, "__name__", None) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(core).__name__).lower()
    )
    called = "lambda" if called == "<lambda>" else called
    if not _NAME.fullmatch(called):
        raise BadInput(
            f"{called!r} cannot be a tool's name; give name= with letters, digits, _ and -, at most 64 of them",
            tool=called,
        )
    return called


def _refuse(function: Any, name: str) -> None:
    """Raise for what cannot be a tool."""
    if inspect.isclass(function):
        raise BadInput(
            f"{name!r} is a class; give a function, an instance with __call__, or a lambda that makes one", tool=name
        )
    if inspect.isfunction(function) and re.search(r"(^|\.)[^.<]+\.[^.<]+$", function.__qualname__):
        first = next(iter(inspect.signature(function).parameters), None)
        if first in ("self", "cls"):
            raise BadInput(
                f"tool {name!r} is a method without its object; give the method of an instance (thing.{name})",
                tool=name,
            )


def _is(function: Any, tests: tuple[Callable[[Any], bool], ...]) -> bool:
    """Whether a test holds for a callable, also inside a partial or for the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return any(test(function) or test(type(function).__call__) for test in tests)


def _of_its_result(annotation: Any, *, yields: bool) -> Any:
    """The type of what a callable gives in the end; `annotation` is what it is said to return."""
    origin, args = get_origin(annotation) or annotation, get_args(annotation)
    if origin not in _STREAMS and not (yields and origin in (abc.Iterable, abc.AsyncIterable)):
        return Any if yields else annotation
    if origin is abc.Generator and len(args) == 3 and not _takes_none(args[2]):
        return args[2]
    return args[0] if args else Any


def _core(function: Any) -> Any:
    """The plain function inside partials, methods, wrappers and callable objects."""
    for _ in range(32):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and inspect.isroutine(type(function).__call__):
            function = type(function).__call__
        else:
            break
    return function


def _doc(function: Any) -> str:
    """The docstring that a person wrote: the function's own, else that of the class of a callable object."""
    core = _core(function)
    own = inspect.getdoc(core) or ""
    if core is type(function).__call__ and own in ("", "Call self as a function."):  # what every callable inherits
        return inspect.getdoc(type(function)) or ""
    return own


def _enclosing(function: Any) -> Iterator[tuple[str, Any]]:
    """The names of the functions around a function, outermost first: those still running, then what it closes over."""
    qualname = getattr(function, "__qualname__", "")
    frames = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        around = qualname.startswith(f"{frame.f_code.co_qualname}.<locals>.")
        if around and frame.f_globals is getattr(function, "__globals__", None):
            frames.append(frame)
        frame = frame.f_back
    for frame in reversed(frames):
        yield from frame.f_locals.items()
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet: the name is bound further down
            continue


def _resolved(parameter: inspect.Parameter, scope: _Scope) -> inspect.Parameter:
    """A parameter with its real type; one that defaults to None takes None."""
    if parameter.annotation is parameter.empty:
        return parameter.replace(annotation=scope.context) if parameter.name == "ctx" else parameter
    annotation = scope.resolve(parameter.annotation, parameter.name)
    if annotation is not scope.context and parameter.default is None and not _takes_none(annotation):
        annotation = typing.Optional[annotation]  # noqa: UP045 - a value that may be no class
    return parameter.replace(annotation=annotation)


def _is_context(annotation: Any) -> bool:
    """Whether an annotation means the tool's context, also in "… | None", in `Annotated`, or as mere text."""
    if isinstance(annotation, str):
        return bool(re.fullmatch(rf"(\w+\.)*{_CONTEXT}(\s*\|\s*None)?", annotation.strip("'\" ")))
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_context(arg) for arg in get_args(annotation))
    return getattr(annotation, "__name__", "") == _CONTEXT and getattr(annotation, "__module__", "").startswith(
        "workbench."
    )


def _has_text(annotation: Any) -> bool:
    """Whether an annotation is written as text, in whole or in part."""
    if isinstance(annotation, str | typing.ForwardRef):
        return True
    if get_origin(annotation) is typing.Literal:
        return False
    if get_origin(annotation) is Annotated:
        return _has_text(get_args(annotation)[0])
    return any(_has_text(arg) for arg in get_args(annotation))


def _takes_none(annotation: Any) -> bool:
    if annotation in (None, type(None), Any, object):
        return True
    if get_origin(annotation) is Annotated:
        return _takes_none(get_args(annotation)[0])
    return get_origin(annotation) in (Union, types.UnionType) and any(_takes_none(arg) for arg in get_args(annotation))
