"""Doors: what a bench publishes to others, and the tools of others used inside it.

What is promised to users is here, loaded at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.endpoints.mcp_client import mcp_tools as mcp_tools
    from workbench.endpoints.wire import Wire as Wire
    from workbench.endpoints.wire_client import connect as connect

__all__ = ["Wire", "connect", "mcp_tools"]

_HOMES = {
    "Wire": "workbench.endpoints.wire",
    "connect": "workbench.endpoints.wire_client",
    "mcp_tools": "workbench.endpoints.mcp_client",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
