"""Lazy names: what a package promises, loaded when it is first asked for, so that importing the package costs little.

A name is kept in its package once it is loaded. Source: PEP 562. Knows nothing of what is promised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str], names: Iterable[str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package`: `homes` are the modules of what it loads, `names` all that it has.

    It raises AttributeError for every other name.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names)}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
