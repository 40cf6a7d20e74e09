"""Addresses: what of a URL may be shown and kept. Knows nothing of what is there."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

__all__ = ["public"]


def public(url: str) -> str:
    """An address without what may be a secret in it: who logs in, and what follows the path."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
