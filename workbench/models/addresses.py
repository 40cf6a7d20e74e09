"""Addresses: what of a URL may be shown and kept. Knows nothing of what is there."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

__all__ = ["is_address", "public"]


def public(url: str) -> str:
    """An address without what may be a secret in it: who logs in, and what follows the path."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_address(url: object) -> bool:
    """Whether it is an address of the web that names a host."""
    if type(url) is not str or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
