"""Compatible servers: models behind any server that speaks OpenAI's chat protocol, and a probe of what one can do.

Ollama (`http://127.0.0.1:11434/v1`), llama.cpp (`:8080/v1`), vLLM (`:8000/v1`), LM Studio (`:1234/v1`) and others. They
differ in what they leave out, so the profile asks for little: one system message, `max_tokens`, schemas without
references. With `models/library.py`, the embassy of the model library.

Source: AGENTS 1.4. Knows nothing of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ModelFailed
from workbench.given import address, named, seconds
from workbench.models.addresses import public
from workbench.models.library import LibraryModel
from workbench.models.messages import user_message
from workbench.models.model import Request, ToolSpec
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openai import AsyncOpenAI

    from workbench.models.model import Turn

__all__ = ["CompatibleModel", "openai_compatible", "probe"]

ADD = ToolSpec(
    "add",
    "Add two whole numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
CITY = ToolSpec(
    "final_result",
    "Give the final answer.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
ENOUGH = 512
"""Tokens that an answer of the probe may have; a model that thinks needs some."""


def openai_compatible(url: str, name: str, api_key: str = "unused", timeout: float = 60.0) -> CompatibleModel:
    """A model behind any server that speaks OpenAI's chat protocol, such as one on this machine.

    `url` ends in "/v1" on most servers; `name` is the server's name of the model; `timeout` is in seconds, for each
    silence. Raises: BadInput for what is no address or no name, and when the extra `openai` is missing.
    """
    named("the server's name of a model", name)
    named("the key of a model's server", api_key)
    seconds("the timeout of a model's server", timeout)
    address("the url of a model's server", url)
    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles import InlineDefsJsonSchemaTransformer
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as error:
        raise _without_package(f"model {name!r} at {public(url)}") from error
    client = _client(url, api_key, timeout)
    profile = OpenAIModelProfile(
        openai_chat_supports_multiple_system_messages=False,
        openai_chat_supports_max_completion_tokens=False,
        json_schema_transformer=InlineDefsJsonSchemaTransformer,
    )
    foreign = OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client), profile=profile)
    return CompatibleModel(foreign, f"{name} at {public(url)}", client)


class CompatibleModel(LibraryModel):
    """A model of a compatible server. Made by `openai_compatible`."""

    def __init__(self, foreign: Any, name: str, client: AsyncOpenAI) -> None:
        super().__init__(foreign, name)
        self._client = client

    async def probe(self) -> Table:
        """What the server does of what the workbench uses: `check`, `works` and `seen`, one row each.

        Asks it four short questions. A server that is not there fails every check; nothing is raised.
        """
        rows = [await _checked("lists its models", self._listed)]
        answer: list[Turn] = []
        pieces: list[str] = []

        async def answered() -> tuple[bool, str]:
            answer.append(await self.ask(_question("Say hello in three words."), pieces.append))
            return len(pieces) > 1, f"{answer[0].text!r:.60} in {len(pieces)} pieces"

        rows.append(await _checked("streams an answer", answered))
        rows.append(await _checked("reports usage", lambda: _usage(answer)))
        rows.append(await _checked("says why it stops", lambda: _finish(answer)))
        rows.append(await _checked("calls a tool", self._called))
        rows.append(await _checked("gives a typed output", self._typed))
        return Table(rows, columns=("check", "works", "seen"))

    async def close(self) -> None:
        """Close the connections to its server; it cannot be asked any more. Left out, they close with the kernel."""
        await self._client.close()

    async def _listed(self) -> tuple[bool, str]:
        names = [model.id async for model in self._client.models.list()]
        here = self._foreign.model_name in names
        return here, f"{', '.join(names[:5]) or 'none'}{'' if here else f'; no {self._foreign.model_name}'}"

    async def _called(self) -> tuple[bool, str]:
        turn = await self.ask(_question("What is 17 + 25? Use the tool.", tools=[ADD]), _nobody)
        seen = ", ".join(f"{call.tool}({call.raw})" for call in turn.calls) or f"no call, but {turn.text!r:.60}"
        return any(call.tool == ADD.name and call.args == {"a": 17, "b": 25} for call in turn.calls), seen

    async def _typed(self) -> tuple[bool, str]:
        turn = await self.ask(_question("Which city is the capital of France?", output=CITY), _nobody)
        seen = ", ".join(f"{call.tool}({call.raw})" for call in turn.calls) or f"no call, but {turn.text!r:.60}"
        return any(call.tool == CITY.name and call.args and "city" in call.args for call in turn.calls), seen


async def probe(url: str, name: str | None = None, *, api_key: str = "unused", timeout: float = 60.0) -> Table:
    """What the server at `url` does of what the workbench uses, asked of the model `name`, or of its first.

    Raises: BadInput for what is no address, when the extra `openai` is missing, or when no model is named and the
    server lists none.
    """
    address("the url of a model's server", url)
    if name is None:
        try:
            async with _client(url, api_key, timeout) as client:
                listed = [model.id async for model in client.models.list()]
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(f"the server at {public(url)} lists no models ({error}); name one") from error
        if not listed:
            raise BadInput(f"the server at {public(url)} lists no models; name one")
        name = listed[0]
    model = openai_compatible(url, name, api_key, timeout)
    try:
        return await model.probe()
    finally:
        await model.close()


def _client(url: str, api_key: str, timeout: float) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        raise _without_package(f"the server at {public(url)}") from error
    return AsyncOpenAI(base_url=url, api_key=api_key, max_retries=0, timeout=timeout)


def _without_package(what: str) -> BadInput:
    return BadInput(f"{what} needs the openai package; run pip install 'jupyter-agent-workbench[openai]'")


async def _checked(check: str, work: Callable[[], Awaitable[tuple[bool, str]]]) -> dict[str, Any]:
    try:
        works, seen = await work()
    except (ModelFailed, BadInput) as failure:
        works, seen = False, str(failure)
    except Exception as error:  # the probe tells what a server does, whatever that is
        works, seen = False, f"{type(error).__name__}: {error}"
    return {"check": check, "works": works, "seen": seen}


def _question(text: str, *, tools: list[ToolSpec] | None = None, output: ToolSpec | None = None) -> Request:
    return Request(None, [user_message(text)], tools or [], {"max_tokens": ENOUGH}, output)


def _nobody(piece: str) -> None:
    """Hear a piece of an answer that nobody reads as it comes."""


async def _usage(answer: list[Turn]) -> tuple[bool, str]:
    if not answer:
        return False, "no answer"
    known = answer[0].tokens is not None
    return known, f"{answer[0].input_tokens} in, {answer[0].output_tokens} out" if known else "not reported"


async def _finish(answer: list[Turn]) -> tuple[bool, str]:
    if not answer:
        return False, "no answer"
    return answer[0].finish is not None, str(answer[0].finish or "it does not; an answer that is cut short looks whole")
