"""Answers: what the journal keeps of a call's end, and how a caller hears it.

- An answer is an envelope with the digest of the call's message, so that one id with another message is a conflict,
  not a wrong answer.
- A call that failed for good has an answer too: a retry gets the failure and does not run the work again.

Source: PROCESSES 2.8 and B.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import CallConflict, CallRefused, DeadLettered, ProcessEnded, StoreError
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from workbench.store.store import Store

__all__ = ["answer", "check_same", "failure", "for_caller", "hear"]

SHOWN = 200
"""Characters of a stored message that an error shows."""

_FAILURES = {"refused": CallRefused, "dead": DeadLettered}


def answer(digest: str, text: str) -> str:
    """The envelope of an answer whose value is the text `text`."""
    return f'{{"digest":"{digest}","ok":{text}}}'


def failure(digest: str, kind: str, words: str) -> str:
    """The envelope of a failure: `kind` is refused or dead."""
    return encode({"digest": digest, "failed": kind, "words": words})


def hear(envelope: str, digest: str, key: str, id: str, store: Store) -> Any:
    """The value for a caller whose message has this digest. Raises: CallConflict, or the recorded failure."""
    content = decode(envelope)
    if type(content) is not dict or not {"ok", "failed"} & content.keys() or type(content.get("digest")) is not str:
        raise StoreError(
            f"the answer of the call {id!r} of {key!r} is {envelope!r:.60}; the row was changed by hand, "
            "call again with another id",
            key=key,
        )
    check_same(content["digest"], digest, key, id, store)
    if "failed" in content:
        raise _FAILURES.get(str(content["failed"]), CallRefused)(str(content.get("words")), key=key, id=id)
    return content["ok"]


def check_same(known: str, digest: str, key: str, id: str, store: Store) -> None:
    """Raises: CallConflict when the id was used for another message, which is shown if the store still has it."""
    if known != digest:
        stored = store.message_now(key, id)
        first = "" if stored is None else f": {stored if len(stored) <= SHOWN else stored[: SHOWN - 1] + '…'}"
        raise CallConflict(
            f"{key!r} knows the call id {id!r} with another message (digest {known[:12]}…, now {digest[:12]}…){first}; "
            "nothing was done; use a new id for a new call",
            key=key,
            id=id,
            first=known,
            second=digest,
            stored=None if stored is None else decode(stored),
        )


def for_caller(error: BaseException, key: str) -> Exception:
    """What ended an activation as an error that its callers can catch."""
    if isinstance(error, Exception):
        return error
    failed = ProcessEnded(
        f"{key!r} ended before it answered: {error}; call again with the same id", name=key, status="ended"
    )
    failed.__cause__ = error
    return failed
