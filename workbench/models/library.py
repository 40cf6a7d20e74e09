"""The embassy of the model library (pydantic-ai): asking its models, and making tool schemas with it.

- Nothing of it is imported before the first use (0.4 s), and none of its types leaves this file.
- Only its model requests, message types and schema generator are used; its agent loop never is.
- A turn is always streamed, so that one path is tested. The provider's own retries are off: a retry is a decision of
  the agent loop, on the record.
- A message is kept as its JSON after one trip through the library, from which on it is stable.

Source: AGENTS 1.2 to 1.4.
"""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import BadInput
from workbench.models.addresses import public
from workbench.models.checks import arguments_invalid, problem_of, rooted, strict_json
from workbench.models.failures import failed, failure
from workbench.models.messages import FORMAT, library_version, stored, unique_ids
from workbench.models.model import Request, ToolSpec, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart
    from pydantic_ai.models import Model as ForeignModel
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse

__all__ = [
    "FunctionSchema",
    "LibraryModel",
    "function_schema",
    "is_foreign_model",
    "named_model",
]

_THINK, _THOUGHT = "<think>", "</think>"
_CUT_SHORT = "the answer of {name} ended before it was complete; ask again"


class LibraryModel:
    """A model of the library behind the port of `workbench.models.model`."""

    def __init__(self, foreign: ForeignModel, name: str | None = None) -> None:
        self.name = name or f"{foreign.system}:{foreign.model_name}"
        self._foreign = foreign
        self._reader = _Reader()

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UserError

        messages, parameters = self._reader.messages(request.history), _parameters(request)
        retries = {} if "max_retries" in getattr(self._foreign, "unsupported_settings", ()) else {"max_retries": 0}
        settings: Any = {**retries, **request.settings}
        try:
            async with model_request_stream(
                self._foreign, messages, model_settings=settings, model_request_parameters=parameters
            ) as stream:
                await _follow(stream, on_text)
                response = stream.get()
        except ModelAPIError as error:
            raise failure(self.name, error) from error
        except AgentRunError as error:
            raise failed(
                f"{self.name} answered in a way that cannot be read ({error}); ask again", "server", True
            ) from error
        except UserError as error:
            raise BadInput(f"the request to {self.name} cannot be sent: {error}") from error
        return self._turn(response, request)

    def _turn(self, response: ModelResponse, request: Request) -> Turn:
        message = stored(_settled(response, request))
        usage = None if response.usage.unmeasured_requests else response.usage
        turn = Turn.of(
            message,
            model=response.model_name or self.name,
            finish=response.finish_reason or _details(response).get("finish_reason"),
            input_tokens=None if usage is None else usage.input_tokens,
            output_tokens=None if usage is None else usage.output_tokens,
            cost_microdollars=None if usage is None else _cost(response),
        )
        _refuse_unusable(turn, response, self.name)
        return turn


def is_foreign_model(value: object) -> bool:
    """Whether `value` is a model of the library; imports nothing to find out."""
    return any(
        kind.__module__.partition(".")[0] == "pydantic_ai" and kind.__name__ == "Model" for kind in type(value).__mro__
    )


def named_model(name: str) -> LibraryModel:
    """The library's model of a name such as "openai:gpt-5.2".

    Raises: BadInput naming the extra that is not installed, the variable that holds no key, or what is understood.
    """
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return LibraryModel(infer_model(name), name)
    except ImportError as error:
        raise BadInput(
            f"model {name!r} needs a package that is not installed; run pip install {_extra(name)!r}"
        ) from error
    except UserError as error:
        raise _unusable(name, str(error)) from error


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a function takes: its description, JSON schema, and the check that gives real values."""

    description: str
    parameters: dict[str, Any]
    validate: Callable[[dict[str, Any]], dict[str, Any]]


def function_schema(face: Callable[..., Any], types: Mapping[str, Any]) -> FunctionSchema:
    """The schema of a function whose annotations are types; `types` are those of its parameters.

    Raises: BadInput naming the function, the parameter and the remedy when a type has no JSON schema. `validate`
    raises ToolArgumentsInvalid.
    """
    from pydantic import ValidationError
    from pydantic.errors import PydanticUserError
    from pydantic.json_schema import PydanticJsonSchemaWarning
    from pydantic_ai import Tool
    from pydantic_ai.exceptions import UserError

    name = face.__name__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", PydanticJsonSchemaWarning
            )  # a default without a JSON form stays out of the schema
            made = Tool(face)
    except (PydanticUserError, UserError, TypeError) as error:
        raise _without_schema(name, types, error) from error
    validator = made.function_schema.validator

    def validate(args: dict[str, Any]) -> dict[str, Any]:
        try:
            values: dict[str, Any] = validator.validate_python(args)
        except ValidationError as error:
            raise arguments_invalid(name, [problem_of(detail) for detail in error.errors(include_url=False)]) from error
        return values

    summary = re.match(r"<summary>(.*?)</summary>", made.description or "", re.DOTALL)
    description = (
        summary[1] if summary else "" if (made.description or "").startswith("<returns>") else made.description or ""
    )
    return FunctionSchema(description.strip(), rooted(strict_json(made.function_schema.json_schema)), validate)


def _without_schema(name: str, types: Mapping[str, Any], error: Exception) -> BadInput:
    """The refusal of a function that no schema can be made of, naming the parameter that is the reason."""
    from pydantic import TypeAdapter

    for parameter, kind in types.items():
        try:
            TypeAdapter(kind).json_schema()
        except Exception as reason:  # any failure here only says which parameter it is
            remedy = _remedy(kind, str(reason))
            return BadInput(
                f"tool {name!r} has a parameter {parameter!r} of type {kind!r}, which has no JSON schema; {remedy}",
                tool=name,
                parameter=parameter,
            )
    return BadInput(f"no schema can be made of tool {name!r}: {error}", tool=name)


def _remedy(kind: Any, reason: str) -> str:
    if "typing_extensions.TypedDict" in reason:
        return "import TypedDict from typing_extensions"
    return "annotate it with plain data (str, int, a list, a pydantic model, …), or bind it with functools.partial"


class _Reader:
    """Reads stored messages as the library's own, each once: a conversation is sent again with every turn of it."""

    MOST = 1024

    def __init__(self) -> None:
        self._read: dict[int, tuple[dict[str, Any], ModelMessage]] = {}

    def messages(self, history: list[dict[str, Any]]) -> list[ModelMessage]:
        """The messages of a history. Raises: BadInput for what this version cannot read."""
        known = [self._read.get(id(message)) for message in history]
        new = [m for m, read in zip(history, known, strict=True) if read is None or read[0] is not m]
        if len(self._read) + len(new) > self.MOST:
            self._read.clear()
            new = history
        self._read.update((id(m), (m, read)) for m, read in zip(new, messages_of(new), strict=True))
        return [self._read[id(message)][1] for message in history]


def messages_of(history: list[dict[str, Any]]) -> list[ModelMessage]:
    """Stored messages as the library has them. Raises: BadInput for those that it cannot read."""
    from pydantic import ValidationError
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    for number, message in enumerate(history):
        if message.get("fmt") != FORMAT:
            raise BadInput(
                f"message {number} of the history has the format {message.get('fmt')!r}; this version reads {FORMAT!r}"
            )
    try:
        return ModelMessagesTypeAdapter.validate_json(json.dumps([message["json"] for message in history]))
    except ValidationError as error:
        versions = sorted({message["lib"] for message in history})
        raise BadInput(
            f"pydantic-ai {library_version()} cannot read a history written by {', '.join(versions)} "
            f"({error.errors()[0]['msg']}); upgrade it, or start a new conversation"
        ) from error


def _parameters(request: Request) -> ModelRequestParameters:
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    def defined(tool: ToolSpec, kind: Literal["function", "output"]) -> ToolDefinition:
        return ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters, kind=kind
        )

    return ModelRequestParameters(
        function_tools=[defined(tool, "function") for tool in request.tools],
        output_tools=[] if request.output is None else [defined(request.output, "output")],
        output_mode="text" if request.output is None else "tool",
        allow_text_output=request.output is None,
        instruction_parts=[InstructionPart(content=request.instructions)] if request.instructions else None,
    )


async def _follow(stream: StreamedResponse, on_text: Callable[[str], None]) -> None:
    """Read a stream to its end, telling its text."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    async for event in stream:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ) if text:
                on_text(text)


def _settled(response: ModelResponse, request: Request) -> dict[str, Any]:
    """The response as JSON that stays the same from here on, its call ids unique."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart

    given = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
    made_up = "pyd_ai_"  # how the library begins an id that it drew for a provider that sent none
    ids = iter(unique_ids([None if id.startswith(made_up) else id for id in given], request.history))
    parts = [
        dataclasses.replace(part, tool_call_id=next(ids)) if isinstance(part, ToolCallPart) else part
        for part in _thoughts_apart(response.parts)
    ]
    text = ModelMessagesTypeAdapter.dump_json([dataclasses.replace(response, parts=parts)], exclude_none=True)
    if response.provider_details:  # anything may be in there, and some of it changes on its first trip
        text = ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(text), exclude_none=True)
    settled: dict[str, Any] = json.loads(text)[0]
    if url := settled.get("provider_url"):
        settled["provider_url"] = public(url)
    return settled


def _thoughts_apart(parts: Sequence[ModelResponsePart]) -> Iterator[ModelResponsePart]:
    """The parts of a turn, what stands between `<think>` and `</think>` as a thought.

    The library knows the marks by whole chunks only, and a stream may cut them anywhere.
    """
    from pydantic_ai.messages import TextPart, ThinkingPart

    for part in parts:
        content = part.content.lstrip() if isinstance(part, TextPart | ThinkingPart) else ""
        opened = isinstance(part, TextPart) and content.startswith(_THINK)
        thought, closed, text = content.removeprefix(_THINK if opened else "").partition(_THOUGHT)
        if not (opened or (closed and isinstance(part, ThinkingPart))):
            yield part
            continue
        yield ThinkingPart(content=thought.strip())
        if text.strip():
            yield TextPart(content=text.lstrip())


def _cost(response: ModelResponse) -> int | None:
    """The price in micro-dollars, or None where none is known: never 0 for want of one."""
    if not _has_price(response.provider_name, response.provider_url, response.model_name):
        return None
    try:
        return round(response.cost().total_price * 1_000_000)
    except (LookupError, ValueError, AssertionError):
        return None


@lru_cache(maxsize=1024)
def _has_price(provider: str | None, url: str | None, model: str | None) -> bool:
    """Whether the snapshot of prices has this model; looking through all of it takes longer than a step."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage

    usage = RequestUsage(input_tokens=1, output_tokens=1)
    try:
        ModelResponse([], usage=usage, model_name=model, provider_name=provider, provider_url=url).cost()
    except (LookupError, ValueError, AssertionError):
        return False
    return True


def _details(response: ModelResponse) -> dict[str, Any]:
    return response.provider_details or {}


def _refuse_unusable(turn: Turn, response: ModelResponse, name: str) -> None:
    """Raise ModelFailed for a turn that must not be taken for an answer; what it cost goes with the error."""
    spent = {
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "cost_microdollars": turn.cost_microdollars,
    }
    if _was_cut_short(response):
        raise failed(_CUT_SHORT.format(name=name), "cut_short", True, **spent)
    if turn.finish == "length" and (turn.calls or not turn.text):
        what = "in the middle of its tool calls" if turn.calls else "before it said anything"
        raise failed(
            f"{name} reached its output limit {what}; no tool was run, raise max_tokens or ask for less",
            "length",
            True,
            **spent,
        )
    if turn.finish == "content_filter" and not turn.text and not turn.calls:
        refusal = _details(response).get("refusal") or "no reason given"
        raise failed(f"{name} declined to answer ({refusal}); change the request", "rejected", False, **spent)
    if not turn.text.strip() and not turn.calls:
        raise failed(f"{name} gave neither text nor a tool call; ask again", "empty", True, **spent)


def _was_cut_short(response: ModelResponse) -> bool:
    """Whether the stream ended before the provider said why it stopped.

    The library takes a clean early end for a full answer; a provider that reports usage with its last words is
    found out by their absence.
    """
    if response.state == "incomplete":
        return True
    says_why = bool(_details(response).get("finish_reason"))
    return bool(response.usage.unmeasured_requests) and not says_why


def _unusable(name: str, why: str) -> BadInput:
    if variables := re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|URL)\b", why):
        missing = "an address" if variables[0].endswith("URL") else "a key"
        return BadInput(
            f"model {name!r} needs {missing} and none is set; set the environment variable {variables[0]}",
            variable=variables[0],
        )
    if why.startswith("Unknown model"):
        provider = name.partition(":")[0]
        return BadInput(
            f'model {name!r} is not understood: no provider is called {provider!r}; give "offline", or a provider that '
            'pydantic-ai knows and its model, such as "openai:…", "anthropic:…", "google:…" or "ollama:…"'
        )
    return BadInput(f"model {name!r} cannot be used: {why}")


def _extra(name: str) -> str:
    provider = name.partition(":")[0].partition("-")[0]
    if provider in ("openai", "anthropic", "google"):
        return f"jupyter-agent-workbench[{provider}]"
    return f"pydantic-ai-slim[{provider}]"
