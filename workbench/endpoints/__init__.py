"""Doors: what a bench publishes to others, and the tools of others used inside it.

What is promised to users is here, loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazily

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


__getattr__ = lazily(__name__, _HOMES, __all__)
