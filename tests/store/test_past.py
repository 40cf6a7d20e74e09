"""The past: from what commits keep, every state is had again, and a change costs what it changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadInput
from workbench.store.past import OWN, Committed, Past, change

short = st.text("ab{}😀é", max_size=12)
texts = st.lists(short, max_size=120).map("".join)
states = st.lists(st.none() | short | texts, min_size=1, max_size=30)


def committed(states: list[str | None]) -> Past:
    """The past of a key that had these states, as a keeper writes it."""
    before, lies, commits = None, True, []
    for number, state in enumerate(states, 1):
        kept = change(before, state, lies_in_commit=lies or before is None)
        commits.append(Committed(number, number, 0.0, 1, 0, kept))
        before, lies = state, kept.startswith(OWN)
    return Past("order:1", before, commits[::-1])


@settings(max_examples=200, deadline=None)
@given(states, st.randoms(use_true_random=False))
def test_every_state_is_had_again_in_any_order(states: list[str | None], random: object) -> None:
    states = [state or None for state in states]  # a state is JSON, which is never empty
    past = committed(states)
    order = list(range(len(states)))
    random.shuffle(order)  # type: ignore[attr-defined]

    assert [past.text(index) for index in order] == [states[::-1][index] for index in order]


@settings(max_examples=200, deadline=None)
@given(texts, texts, texts, texts)
def test_a_splice_is_kept_as_what_was_there_before(head: str, old: str, new: str, tail: str) -> None:
    head, tail = head + "h" * 300, "t" * 300 + tail

    kept = change(head + old + tail, head + new + tail, lies_in_commit=False)

    assert len(kept) <= len(old) + len("0,0,1234,1234,1234,1234|")


def test_a_long_growing_state_keeps_a_few_characters_a_commit() -> None:
    lines: list[str] = []
    texts = []
    for number in range(1000):
        lines.append(f"{number:04d} ".ljust(98, "x"))
        texts.append(json.dumps({"count": number, "lines": lines}))

    past = committed(texts)

    assert sum(len(commit.kept or "") for commit in past.commits) < 250_000  # most of it of the first twenty
    assert [past.text(past.find(seq)) for seq in (1, 20, 21, 500, 64, 1000)] == [
        texts[seq - 1] for seq in (1, 20, 21, 500, 64, 1000)
    ]


def test_a_small_state_lies_in_its_commit() -> None:
    past = committed(["1", "2", "[" + "1," * 900 + "3]"])

    assert [commit.kept for commit in past.commits][1:] == ["+2", "+1"]


@pytest.mark.parametrize(
    "kept", [None, "x", "1,2", "0,0,-1|", "0,9,9|", "a,b,c|", b"\x00", "1,0,1|", "0,0,1"], ids=repr
)
def test_what_does_not_fit_hides_what_is_older_and_no_more(kept: str | bytes | None) -> None:
    commits = [Committed(3, 3, 0, 1, 0, "0,0,1|"), Committed(2, 2, 0, 1, 0, kept), Committed(1, 1, 0, 1, 0, "-")]
    past = Past("order:1", "[]", commits)

    assert (past.text(0), past.text(1)) == ("[]", "[")
    with pytest.raises(BadInput, match="the states of 'order:1' before message 2 cannot be read"):
        past.text(2)


def test_a_key_without_commits_says_that_it_has_no_state() -> None:
    with pytest.raises(BadInput, match="'order:1' has no committed state yet"):
        Past("order:1", None, []).find(1)
