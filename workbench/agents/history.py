"""The history: what a model is told of the conversation before its run, and how much of it.

- A history is only ever shortened for the model; what was said stays in the store as it was.
- Whole exchanges are left out, oldest first, and then the oldest tool rounds of the run itself: its request stays, and
  no call is ever without its result, so every provider takes what is left.
- Tokens are estimated, four characters each, because no provider counts before it is asked.

Source: AGENTS 1.2 (a history is always valid). Knows nothing of stores or of waiting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.errors import BadInput
from workbench.given import shown
from workbench.models.messages import (
    ToolResult,
    calls_of,
    text_of,
    tool_results_message,
    turns_in,
    user_message,
    user_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.models.model import Model

__all__ = [
    "SUMMARISE",
    "Earlier",
    "History",
    "Message",
    "closed",
    "packed",
    "spoken",
    "summary_request",
    "tokens_of",
    "unpacked",
]

Message: TypeAlias = dict[str, Any]
"""A stored message (`workbench.models.messages`)."""

CHARACTERS = 4  # of a token
AROUND = 4  # tokens of a message beside its words
INTERRUPTED = "This call was interrupted. It may or may not have happened. Look before you repeat it, or ask."

SUMMARISE = (
    "Summarise the conversation so far for the assistant that carries it on. Keep names, numbers, identifiers, "
    "decisions, what was done and what is still open. Answer with the summary alone."
)
ASKED = "Summarise the conversation above."
SUMMARY = "Summary of the earlier conversation:\n"


@dataclass(frozen=True, slots=True)
class History:
    """How much of its conversation an agent's model is told: `Agent(…, history=History(tokens=8_000))`.

    `runs` is how many earlier runs at most; `tokens` how many tokens at most, as estimated, the run's own included.
    With `summarise`, what does not fit is summed up instead of left out, by the agent's model or by `model`, once, and
    later runs build on that; a text says how. Left alone, everything is told. Raises: BadInput.
    """

    runs: int | None = None
    tokens: int | None = None
    summarise: bool | str = False
    model: str | Model | None = None

    def __post_init__(self) -> None:
        for name, value in (("runs", self.runs), ("tokens", self.tokens)):
            if value is not None and (type(value) is not int or value < 1):
                raise BadInput(f"{name} of a history is a whole number from 1, or None for all, found {shown(value)}")
        if self.summarise and self.runs is None and self.tokens is None:
            raise BadInput("a history that is summarised needs a bound; give runs=… or tokens=…")
        if type(self.summarise) not in (bool, str):
            raise BadInput(f"summarise is True, False, or how to do it in words, found {self.summarise!r}")
        if self.model is not None and not self.summarise:
            raise BadInput("a model of a history is who summarises; add summarise=True")

    def to_sum_up(self, exchanges: Sequence[Sequence[Message]], digest: str | None) -> int:
        """How many of the oldest exchanges are to be summed up now: none while all fit, else all but half a bound."""
        if not self.summarise:
            return 0
        weights = [tokens_of(each) for each in exchanges]
        over_runs = self.runs is not None and len(exchanges) > self.runs
        over_tokens = self.tokens is not None and sum(weights) + len(digest or "") // CHARACTERS > self.tokens
        if not over_runs and not over_tokens:
            return 0
        keep = len(exchanges) if self.runs is None else self.runs // 2
        if self.tokens is not None:
            half = self.tokens // 2
            keep = min(keep, sum(1 for weight in accumulate(reversed(weights)) if weight <= half))
        return len(exchanges) - keep


@dataclass(slots=True)
class Earlier:
    """What came before a run in its conversation: exchanges and their numbers, oldest first, behind a digest.

    `through` is the number of the last exchange that the digest stands for; `made` says that this run made it. `turns`
    is how many model turns there were before the first of the exchanges.
    """

    exchanges: list[list[Message]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    digest: str | None = None
    through: int = 0
    made: bool = False
    turns: int = 0

    def told(self, own: Sequence[Message], policy: History) -> tuple[list[Message], int]:
        """The history for the next turn of a run whose own messages are `own`; and how many model turns it omits."""
        if not self.exchanges and self.digest is None and policy.tokens is None:
            return list(own), self.turns
        first = [] if self.digest is None else [user_message(SUMMARY + self.digest)]
        if policy.tokens is None:
            return [*first, *(message for each in self.exchanges for message in each), *own], self.turns
        left = policy.tokens - tokens_of(first) - tokens_of(own)
        kept: list[list[Message]] = []
        for each in reversed(self.exchanges):
            left -= tokens_of(each)
            if left < 0:
                break
            kept.insert(0, each)
        told = [*(message for each in kept for message in each), *_shortened(own, policy.tokens)]
        return [*first, *told], self.turns_after(own) - turns_in(told)

    def turns_after(self, own: Sequence[Message]) -> int:
        """How many model turns there are in the conversation, those of the run included."""
        return self.turns + sum(map(turns_in, self.exchanges)) + turns_in(own)


def _shortened(own: Sequence[Message], tokens: int) -> list[Message]:
    """A run's own messages, without its oldest rounds of calls and results while they are more than `tokens`.

    Everything that a person said stays, and so does the newest round.
    """
    rounds: list[list[Message]] = []
    for message in own:
        if message["json"]["kind"] == "response" or not rounds or user_text(message) is not None:
            rounds.append([message])
        else:
            rounds[-1].append(message)
    weights = [tokens_of(each) for each in rounds]
    total = sum(weights)
    kept: list[Message] = []
    for at, (each, weight) in enumerate(zip(rounds, weights, strict=True)):
        is_round = each[0]["json"]["kind"] == "response"
        if is_round and total > tokens and at < len(rounds) - 1:
            total -= weight
        else:
            kept += each
    return kept


def tokens_of(messages: Sequence[Message]) -> int:
    """How many tokens messages are, estimated."""
    return sum(_weight(message) for message in messages)


def _weight(message: Message) -> int:
    letters = 0
    for part in message["json"]["parts"]:
        for name in ("content", "args", "tool_name"):
            value = part.get(name)
            letters += len(value) if isinstance(value, str) else 0 if value is None else len(json.dumps(value))
    return AROUND + letters // CHARACTERS


def summary_request(exchanges: Sequence[Sequence[Message]], digest: str | None) -> list[Message]:
    """The history that a model is asked to sum up."""
    first = [] if digest is None else [user_message(SUMMARY + digest)]
    return [*first, *(message for each in exchanges for message in each), user_message(ASKED)]


def closed(own: Sequence[Message], done: Callable[[int, int], ToolResult | None]) -> list[Message]:
    """The messages of a run that ended, with a result for every call: those that have none were interrupted.

    `done(turn, position)` is what came of a call, if anything did.
    """
    calls = calls_of(own[-1]) if own and own[-1]["json"]["kind"] == "response" else []
    if not calls:
        return list(own)
    turn = turns_in(own)
    results = [
        done(turn, position) or ToolResult(call.id, call.tool, INTERRUPTED, "interrupted")
        for position, call in enumerate(calls)
    ]
    return [*own, tool_results_message(results)]


def packed(messages: Sequence[Message]) -> list[Any]:
    """Messages as they are kept with their exchange: those of one format and version together."""
    groups: list[Any] = []
    for message in messages:
        if not groups or groups[-1][:2] != [message["fmt"], message["lib"]]:
            groups.append([message["fmt"], message["lib"], []])
        groups[-1][2].append(message["json"])
    return groups


def unpacked(groups: Sequence[Any]) -> list[Message]:
    """The messages that were packed. Raises: BadInput for what is none of them."""
    try:
        return [{"fmt": fmt, "lib": lib, "json": message} for fmt, lib, group in groups for message in group]
    except (TypeError, ValueError) as error:
        raise BadInput(f"the kept exchange {groups!r:.60} is none; the row was changed by hand") from error


def spoken(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Who said what in messages: pairs of `you` or `agent` and the words, tool rounds left out."""
    said: list[tuple[str, str]] = []
    for message in messages:
        words = user_text(message) if message["json"]["kind"] == "request" else text_of(message)
        if words:
            said.append(("you" if message["json"]["kind"] == "request" else "agent", words))
    return said
