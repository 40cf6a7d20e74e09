"""Words: what an error says, as text that a row can hold.

- An error whose own words fail says so; half of a character becomes a question mark; what is very long is cut. So a
  failure can always be written down, and nothing fails because something else did.

Knows nothing of who writes it down.
"""

from __future__ import annotations

__all__ = ["LONGEST", "as_text", "is_whole", "kind_and_words", "words_of"]

LONGEST = 100_000
"""Characters that are kept of what an error says, or of its traceback."""


def words_of(error: BaseException) -> str:
    """What an error says."""
    try:
        text = str(error)
    except Exception as unable:
        text = f"it cannot say why: {type(unable).__qualname__}"
    return as_text(text[:LONGEST])


def kind_and_words(error: BaseException) -> str:
    """An error by its type and what it says."""
    return f"{type(error).__qualname__}: {words_of(error)}"


def as_text(text: str) -> str:
    """The text with a question mark for each half of a character."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def is_whole(text: str) -> bool:
    """Whether UTF-8 can hold the text: no half of a character is in it."""
    return text.isascii() or as_text(text) == text
