"""Words of errors: whatever failed, it can be written down."""

from __future__ import annotations

import pytest

from workbench.words import LONGEST, as_text, kind_and_words, words_of


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("plain"), "ValueError: plain"),
        (KeyError("a"), "KeyError: 'a'"),
        (OSError("caf\udce9"), "OSError: caf?"),
        (Mute(), "Mute: it cannot say why: ValueError"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
    ],
)
def test_every_error_has_words_that_a_row_can_hold(error: BaseException, words: str) -> None:
    assert kind_and_words(error) == words
    assert kind_and_words(error).encode().decode() == words


def test_words_without_end_are_cut() -> None:
    assert words_of(ValueError("x" * 3 * LONGEST)) == "x" * LONGEST


def test_whole_characters_stay_as_they_are() -> None:
    assert as_text("né 😀\0") == "né 😀\0"
    assert as_text("a\ud800b") == "a?b"
