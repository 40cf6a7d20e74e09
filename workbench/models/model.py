"""The port to models: what is asked, what comes back, and who can be asked.

- A turn is plain data with an exact round trip, because it is kept as the result of a step.
- A turn that cannot be used (cut short, empty, refused) is never given back: it is a `ModelFailed`, so it cannot be
  mistaken for an answer.
- An answer always streams: `on_text` gets each piece on the loop that asked, before the turn is there.

Knows nothing of providers, agents or the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from workbench.models.messages import Call, calls_of, text_of, thinking_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Model", "Request", "ToolSpec", "Turn", "begin_again"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What one turn is asked with.

    `history` holds stored messages, and `omitted` is how many model turns were left out of it; `settings` are the
    library's (temperature, max_tokens, timeout, …). Where `output`
    is given, the answer is a call of that tool, or a text that is JSON of its shape, rather than words.
    """

    instructions: str | None
    history: list[dict[str, Any]]
    tools: list[ToolSpec] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    output: ToolSpec | None = None
    omitted: int = 0

    def with_message(self, message: dict[str, Any]) -> Request:
        """The same request with one more message at the end of its history."""
        return replace(self, history=[*self.history, message])


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model. `message` is the stored message; text, thinking and calls are read from it.

    Tokens are None where the provider reported none, `cost_microdollars` where no price is known: never 0 for want of
    a figure. `finish` is why it stopped: stop, length, tool_call, …, or None when unsaid. `tries` are those before it
    that failed: who was asked (`model`), `kind`, `why`, and what they took.
    """

    message: dict[str, Any]
    text: str
    thinking: str
    calls: list[Call]
    finish: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_microdollars: int | None
    model: str
    tries: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        message: dict[str, Any],
        *,
        model: str,
        finish: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cost_microdollars: int | None = None,
        tries: Iterable[dict[str, Any]] = (),
    ) -> Turn:
        """The turn that a stored message is."""
        return cls(
            message=message,
            text=text_of(message),
            thinking=thinking_of(message),
            calls=calls_of(message),
            finish=finish,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_microdollars=cost_microdollars,
            model=model,
            tries=tuple(tries),
        )

    def to_plain(self) -> dict[str, Any]:
        """Plain data that `from_plain` turns back into an equal turn; nothing that the message says is said twice."""
        plain = {
            "message": self.message,
            "model": self.model,
            "finish": self.finish,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_microdollars": self.cost_microdollars,
        }
        return {**plain, "tries": list(self.tries)} if self.tries else plain

    def after(self, tries: Iterable[dict[str, Any]]) -> Turn:
        """This turn, with tries that failed before all that it knows of."""
        before = tuple(tries)
        return replace(self, tries=before + self.tries) if before else self

    @property
    def tokens(self) -> int | None:
        """Tokens in and out together, or None where the provider reported none."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Turn:
        """The turn that `to_plain` wrote."""
        return cls.of(**plain)


def begin_again(on_text: Callable[[str], None]) -> None:
    """Tell who listens that what was said so far is void, if it can hear that (`on_text.begin_again`)."""
    hear = getattr(on_text, "begin_again", None)
    if hear is not None:
        hear()


class Model(Protocol):
    """Who answers. `name` is how people call it."""

    name: str

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        """Give the next turn of the conversation; `on_text` gets the text as it comes.

        A model that has to start over after it said something calls `begin_again(on_text)`.
        Cancelling ends the request. Raises: ModelFailed; BadInput when the request itself cannot be sent.
        """
        ...
