"""Providers: from what a person writes as `model=` to who answers.

Understood are "offline", a provider's name ("openai:gpt-5.2"), anything that can be asked, and a model of the model
library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from workbench.errors import BadInput
from workbench.models.embedded import Offline
from workbench.models.library import LibraryModel, is_foreign_model, named_model

if TYPE_CHECKING:
    from workbench.models.model import Model

__all__ = ["resolve"]

_UNDERSTOOD = (
    '"offline", "openai:gpt-5.2" (or another "provider:name"), models.scripted(...), models.recorded(...), '
    "models.openai_compatible(...), a pydantic-ai model, or an object with a `name` and an async method `ask`"
)


def resolve(model: object) -> Model:
    """Who answers for `model`. Raises: BadInput naming what is missing, or what is understood."""
    if isinstance(model, str):
        return _by_name(model)
    if is_foreign_model(model):
        return LibraryModel(model)  # type: ignore[arg-type]
    if (
        not isinstance(model, type)
        and callable(getattr(model, "ask", None))
        and isinstance(getattr(model, "name", None), str)
    ):
        return cast("Model", model)
    raise BadInput(f"model {model!r} is not understood; give {_UNDERSTOOD}")


def _by_name(name: str) -> Model:
    if name == "offline":
        return Offline()
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise BadInput(f"model {name!r} is not understood; give {_UNDERSTOOD}")
    return named_model(name)
