"""Models: who answers. `from workbench import models`, then `models.scripted(...)`, `models.resolve("offline")`.

Importing this costs next to nothing: each name loads its module when it is first used, and the model library only
when a real provider is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.cassette import recorded
    from workbench.models.chain import fallback
    from workbench.models.compatible import openai_compatible, probe
    from workbench.models.embedded import offline
    from workbench.models.providers import resolve
    from workbench.models.script import call, raw_call, scripted
    from workbench.models.smollm import local

__all__ = [
    "call",
    "fallback",
    "local",
    "offline",
    "openai_compatible",
    "probe",
    "raw_call",
    "recorded",
    "resolve",
    "scripted",
]

_HOMES = {
    "call": "script",
    "fallback": "chain",
    "local": "smollm",
    "offline": "embedded",
    "openai_compatible": "compatible",
    "probe": "compatible",
    "raw_call": "script",
    "recorded": "cassette",
    "resolve": "providers",
    "scripted": "script",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
