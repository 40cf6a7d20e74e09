"""The past: the states that a key had, and what a commit keeps of them so that each can be had again.

- A commit keeps an *undo*, which turns its state into the one before it: a few copies and little text, because most
  states share long parts with the one before. The newest state is then beside the history, in one place.
- A small state that shares little is kept whole in its commit instead, and is the newest state where it lies: one row
  less to write. After the first undo of a key, all of its commits have one.
- So history grows with what changes, never with its square, and needs only what is newer: the oldest can be pruned
  without harm to the rest.
- No state is parsed here. What does not fit was changed by hand: what is older is then unknown, and says so.

Source: DESIGN rule 10, PERFORMANCE "Consequences" 7. Knows nothing of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import BadInput, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["OWN", "Committed", "Past", "change", "own"]

SAME, NONE, WHOLE, OWN = "", "-", "=", "+"
"""How a change begins: the state stayed; there was none before; all of the one before; all of the commit's own."""

SHORT = 128
"""Characters up to which a state is kept whole: looking for what it shares would cost more than it saves."""

SMALL = 2048
"""Characters up to which a state that shares little may lie in its commit."""

SAMPLE, SAMPLES = 32, 24
"""Characters of a sample that is looked for in the state after, and how often one is."""

MARK = 64
"""Commits between two states that are remembered while somebody looks around in the past."""


def change(before: str | None, after: str | None, *, lies_in_commit: bool) -> str:
    """What a commit keeps when the state `before` becomes `after`.

    `lies_in_commit` says that there was no state before, or that it lies in its commit.
    """
    if not lies_in_commit:
        return _undo(before, after)
    if after is None:
        return OWN
    if len(after) > SMALL:
        return _undo(before, after)
    if before is None or len(after) < SHORT:
        return OWN + after
    undo = _undo(before, after)
    return undo if 2 * len(undo) < len(after) else OWN + after


def own(kept: str) -> str | None:
    """The state that lies in its commit."""
    return kept[1:] or None


def _undo(before: str | None, after: str | None) -> str:
    """What turns the state `after` into the state `before`: nothing, no state, the whole of it, or its pieces.

    Pieces are texts with copies of parts of `after` between them: `length,start,copied,length,…|texts`.
    """
    if before == after:
        return SAME
    if before is None:
        return NONE
    if after is None or len(before) < SHORT:
        return WHOLE + before
    shorter = min(len(before), len(after))
    quarter = shorter >> 2
    if shorter <= SMALL and not after.startswith(before[:quarter]) and not after.endswith(before[-quarter:]):
        return WHOLE + before
    prefix = _shared(before, after, 0, 0, shorter)
    suffix = _shared_at_end(before, after, len(before), len(after), shorter - prefix)
    copies = [(prefix, 0, prefix), (len(before), len(after) - suffix, suffix)]
    if len(before) - prefix - suffix > SHORT and shorter > SMALL:
        copies[1:1] = _between(before, after, prefix, len(before) - suffix)
    numbers, texts, at = [], [], 0
    for end, start, copied in copies:
        texts.append(before[at : end - copied])
        numbers += [len(texts[-1]), start, copied]
        at = end
    undo = f"{','.join(map(str, numbers))}|{''.join(texts)}"
    return undo if len(undo) <= len(before) else WHOLE + before


def _between(before: str, after: str, low: int, high: int) -> list[tuple[int, int, int]]:
    """What `before[low:high]` shares with `after`, as `(end in before, start in after, length)`.

    Looks for a few samples, farther and farther apart where nothing is found, so that it costs little in any text.
    """
    copies = []
    at, skip, place = low, 0, 0
    for _ in range(SAMPLES):
        sample = at + skip
        if sample + SAMPLE > high:
            break
        found = after.find(before[sample : sample + SAMPLE], place)
        if found < 0:
            skip = 2 * skip + SAMPLE // 2
            continue
        back = _shared_at_end(before, after, sample, found, min(sample - at, found))
        start = found - back
        copied = _shared(before, after, sample - back, start, min(high - sample + back, len(after) - start))
        at = sample - back + copied
        copies.append((at, start, copied))
        place, skip = start + copied, 0
    return copies


def _shared(one: str, other: str, at: int, there: int, most: int) -> int:
    """How many characters `one[at:]` and `other[there:]` share, at most `most`: by halves, so that C compares them."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) >> 1
        if one.startswith(other[there + low : there + middle], at + low):
            low = middle
        else:
            high = middle - 1
    return low


def _shared_at_end(one: str, other: str, end: int, there: int, most: int) -> int:
    """How many characters `one[:end]` and `other[:there]` share at their ends, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) >> 1
        if one.startswith(other[there - middle : there - low], end - middle):
            low = middle
        else:
            high = middle - 1
    return low


def _redo(after: str | None, change: str) -> str | None:
    """The state before, from the state `after` and its undo. Raises: ValueError for an undo that does not fit."""
    if change == SAME:
        return after
    if change == NONE or change.startswith(OWN):  # a state lies in its commit only after none, or one that does too
        return None
    if change.startswith(WHOLE):
        return change[1:]
    head, bar, texts = change.partition("|")
    numbers = [int(number) for number in head.split(",")]
    if after is None or not bar or len(numbers) % 3 or min(numbers) < 0:
        raise ValueError(f"{change!r:.40} is no undo")
    pieces, at = [], 0
    for length, start, copied in zip(*[iter(numbers)] * 3, strict=True):
        if start + copied > len(after):
            raise ValueError(f"it copies {copied} characters at {start} from a state of {len(after)}")
        pieces += [texts[at : at + length], after[start : start + copied]]
        at += length
    if at != len(texts):
        raise ValueError(f"its texts have {len(texts)} characters and not {at}")
    return "".join(pieces)


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit: its number among the rows, the last message that it acknowledged, and what it keeps of states.

    `kept` is as the store has it: the text of `change`, a reference that the store unfolds, or None when an older
    version wrote nothing.
    """

    id: int
    seq: int
    at: float
    epoch: int
    version: int
    kept: str | bytes | None


class Past:
    """The states of a key, read at one moment. `commits` are newest first; `newest` is the state after the first."""

    def __init__(
        self,
        key: str,
        newest: str | None,
        commits: Sequence[Committed],
        unfold: Callable[[str | bytes], str] | None = None,
    ) -> None:
        self.key = key
        self.commits = commits
        self._unfold = unfold
        self._marks: dict[int, str | None] = {0: newest}
        self._last = (0, newest)
        self._numbers = {commit.id: index for index, commit in enumerate(commits)}

    def find(self, seq: int) -> int:
        """The index of the newest commit at or before message `seq`.

        Raises: BadInput when there is none, which the words say whether it was pruned.
        """
        for index, commit in enumerate(self.commits):
            if commit.seq <= seq:
                return index
        if not self.commits:
            raise BadInput(f"{self.key!r} has no committed state yet; its first message is still to be handled")
        oldest = self.commits[-1].seq
        raise BadInput(
            f"{self.key!r} has no state at message {seq}: what is kept begins at message {oldest}; ask for {oldest} "
            "or later"
        )

    def index_of(self, id: int) -> int | None:
        """The index of the commit in row `id`, or None."""
        return self._numbers.get(id)

    def text(self, index: int) -> str | None:
        """The state after the commit at `index`, or None where there was none.

        Raises: BadInput when a row that says so was changed by hand or has nothing to say.
        """
        kept = self.commits[index].kept
        if isinstance(kept, str) and kept.startswith(OWN):
            return own(kept)
        start = index - index % MARK
        while start not in self._marks:
            start -= MARK
        text = self._marks[start]
        if start <= self._last[0] <= index:
            start, text = self._last
        for at in range(start, index):
            text = self._before(self.commits[at], text)
            if (at + 1) % MARK == 0:
                self._marks[at + 1] = text
        self._last = (index, text)
        return text

    def _before(self, commit: Committed, text: str | None) -> str | None:
        kept = commit.kept
        try:
            if kept is None:
                raise ValueError("it was written by a version that kept none")
            if isinstance(kept, bytes):
                if self._unfold is None:
                    raise ValueError("it is not in this store")
                kept = self._unfold(kept)
            return _redo(text, kept)
        except (ValueError, TypeError, AttributeError, StoreError) as error:
            raise BadInput(
                f"the states of {self.key!r} before message {commit.seq} cannot be read: what row {commit.id} keeps "
                f"does not fit ({error}); what is newer can"
            ) from error
