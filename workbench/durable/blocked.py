"""Blocked keys: those with work left that a bench cannot run, and why.

A blocked key is left alone by the scheduler until its code comes or somebody asks for it; it costs nothing meanwhile.
"""

from __future__ import annotations

__all__ = ["Blocked"]


class Blocked:
    """The keys that wait for the code of a definition, each with its reason."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, str]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str, definition: str, reason: str) -> None:
        """Note that a key of this definition cannot run."""
        self._keys[key] = (definition, reason)

    def forget(self, key: str) -> None:
        """The key is tried again."""
        self._keys.pop(key, None)

    def free(self, definition: str) -> list[str]:
        """Forget the keys of a definition whose code came; gives them."""
        freed = [key for key, (name, _) in self._keys.items() if name == definition]
        for key in freed:
            del self._keys[key]
        return freed

    def reasons(self) -> dict[str, str]:
        """Why each key is blocked."""
        return {key: reason for key, (_, reason) in self._keys.items()}
