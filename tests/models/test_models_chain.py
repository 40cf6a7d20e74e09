"""Fallbacks: who is asked next, who never is, and what the turn tells of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workbench import models
from workbench.errors import BadInput, ModelFailed
from workbench.models.failures import failed
from workbench.models.messages import user_message
from workbench.models.model import Request, Turn
from workbench.models.speech import said

HI = Request(None, [user_message("hi")])


class Broken:
    """A model that says something and then fails."""

    def __init__(self, name: str, kind: str, *, retryable: bool = True, **fields: Any) -> None:
        self.name = name
        self.asks = 0
        self._failure = lambda: failed(f"{name} failed", kind, retryable, **fields)

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        self.asks += 1
        on_text("half a ")
        raise self._failure()


class Heard(list[str]):
    """Hears a turn as the loop does."""

    def __call__(self, piece: str) -> None:
        self.append(piece)

    def begin_again(self) -> None:
        self.clear()


class Fine:
    name = "fine"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        on_text("Hello.")
        return said(["Hello."], request, model=self.name)


@pytest.mark.parametrize("kind", ["connection", "rate_limit", "server", "cut_short"])
async def test_a_model_that_fails_is_passed_over_and_told_of(kind: str):
    heard = Heard()

    turn = await models.fallback(Broken("a", kind, input_tokens=5), Broken("b", kind), Fine()).ask(HI, heard)

    assert (turn.text, turn.model, heard) == ("Hello.", "fine", ["Hello."])
    assert [(each["model"], each["kind"], each["input_tokens"]) for each in turn.tries] == [
        ("a", kind, 5),
        ("b", kind, None),
    ]
    assert Turn.from_plain(turn.to_plain()) == turn


@pytest.mark.parametrize("status", [401, 402, 403, 404])
async def test_a_provider_that_refuses_who_asks_is_passed_over(status: int):
    turn = await models.fallback(Broken("a", "rejected", retryable=False, status=status), Fine()).ask(HI, print)

    assert turn.model == "fine"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("rejected", {"status": 400}), ("rejected", {}), ("length", {}), ("empty", {}), ("script", {})],
)
async def test_what_is_wrong_with_the_request_is_raised_at_once(kind: str, fields: dict[str, Any]):
    second = Broken("b", "server")

    with pytest.raises(ModelFailed, match="a failed"):
        await models.fallback(Broken("a", kind, retryable=False, **fields), second).ask(HI, print)

    assert second.asks == 0


async def test_a_model_that_cannot_be_used_here_is_passed_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    turn = await models.fallback("openai:gpt-5.2", Fine()).ask(HI, print)

    (before,) = turn.tries
    assert (turn.model, before["model"], before["kind"]) == ("fine", "openai:gpt-5.2", "unusable")


async def test_when_all_fail_the_failure_tells_of_all():
    both = models.fallback(
        Broken("a", "rate_limit", retry_after=30.0, input_tokens=5), Broken("b", "server", retry_after=9.0)
    )

    with pytest.raises(ModelFailed) as failure:
        await both.ask(HI, print)

    assert str(failure.value) == "none of 2 models answered (a: a failed; b: b failed)"
    assert (failure.value.retryable, failure.value.kind, failure.value.retry_after) == (True, "server", 9.0)
    assert failure.value.input_tokens == 5


async def test_all_that_are_beyond_help_are_not_asked_again():
    with pytest.raises(ModelFailed) as failure:
        await models.fallback(Broken("a", "rejected", retryable=False, status=401), "nobody:here").ask(HI, print)

    assert (failure.value.retryable, failure.value.kind) == (False, "unusable")


def test_one_model_is_no_fallback():
    with pytest.raises(BadInput, match="a fallback is one of several models, found 1"):
        models.fallback("offline")
    assert repr(models.fallback("offline", "openai:gpt-5.2")) == "fallback('offline', 'openai:gpt-5.2')"
