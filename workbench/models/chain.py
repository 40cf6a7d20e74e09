"""Fallbacks: several models in order, the next one asked when the fault is not the request's.

- A model that cannot be reached, refuses for now, fails on its side, breaks off, or cannot be used here (no key, no
  package, no such model) is passed over. What is wrong with the request, or was declined, would fail everywhere: that
  is raised at once.
- The turn tells who answered, and who failed before and why. What those said so far is void.

Knows nothing of waiting: who asks again after a while asks all of them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ModelFailed
from workbench.models.failures import as_try, failed
from workbench.models.model import begin_again
from workbench.models.providers import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.models.model import Model, Request, Turn

__all__ = ["Fallback", "fallback"]

ELSEWHERE = frozenset(("connection", "rate_limit", "server", "cut_short"))
"""Kinds of failures that another model may not have."""

OURS_ONLY = frozenset((401, 402, 403, 404, 407))
"""Statuses by which a provider refuses who asks, or does not have the model, whatever is asked."""


def fallback(*models: object) -> Fallback:
    """A model that asks `models` in order until one answers; each is whatever `resolve` understands.

    Raises: BadInput for fewer than two.
    """
    if len(models) < 2:
        raise BadInput(
            f"a fallback is one of several models, found {len(models)}; write models.fallback(first, second)"
        )
    return Fallback(models)


class Fallback:
    """A model with others behind it. Made by `fallback`."""

    def __init__(self, models: tuple[object, ...]) -> None:
        self._given = models
        self._models: dict[int, Model] = {}
        self._names = [each if isinstance(each, str) else str(getattr(each, "name", each)) for each in models]
        self.name = ", else ".join(self._names)

    def __repr__(self) -> str:
        return f"fallback({', '.join(map(repr, self._names))})"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        tries: list[dict[str, Any]] = []
        failures: list[ModelFailed] = []
        for number, name in enumerate(self._names):
            try:
                turn = await self._model(number).ask(request, on_text)
            except ModelFailed as failure:
                if not _is_elsewhere(failure):
                    raise
                failures.append(failure)
                tries.append(as_try(name, failure.fields, str(failure)))
            except BadInput as error:
                failures.append(failed(str(error), "unusable", False))
                tries.append(as_try(name, {"kind": "unusable"}, str(error)))
            else:
                return turn.after(tries)
            begin_again(on_text)
        raise _all_failed(self._names, failures)

    def _model(self, number: int) -> Model:
        """The model at a place, made when it is first asked. Raises: BadInput when it cannot be used here."""
        if number not in self._models:
            self._models[number] = resolve(self._given[number])
        return self._models[number]


def _is_elsewhere(failure: ModelFailed) -> bool:
    return failure.fields.get("kind") in ELSEWHERE or failure.fields.get("status") in OURS_ONLY


def _all_failed(names: list[str], failures: list[ModelFailed]) -> ModelFailed:
    """One failure for all: as retryable as any, to be asked again when the first of them allows it."""
    hopeful = [each.fields for each in failures if each.fields.get("retryable")]
    last = hopeful[-1] if hopeful else failures[-1].fields
    waits = [wait for each in hopeful if isinstance(wait := each.get("retry_after"), (int, float))]
    told = "; ".join(f"{name}: {failure}" for name, failure in zip(names, failures, strict=True))
    return failed(
        f"none of {len(names)} models answered ({told})",
        str(last.get("kind")),
        bool(hopeful),
        status=last.get("status"),
        retry_after=min(waits, default=None),
        **{figure: _sum(failures, figure) for figure in ("input_tokens", "output_tokens", "cost_microdollars")},
    )


def _sum(failures: list[ModelFailed], figure: str) -> int | None:
    known = [value for each in failures if isinstance(value := each.fields.get(figure), int)]
    return sum(known) if known else None
