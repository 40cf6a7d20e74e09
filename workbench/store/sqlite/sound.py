"""Soundness: what rows must be to be believed, because a stranger may have changed the file by hand.

- A row of a key that is no row of a key is refused by the name of its key, before anything is made of it.
- What is read of a key while a job runs and turns out to be something else is an error of that key alone, never of the
  batch that it was in.

Knows nothing of what payloads say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from workbench.errors import StoreError

if TYPE_CHECKING:
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["damaged", "guarded", "is_instant", "is_number"]

T = TypeVar("T")


def is_number(value: object) -> bool:
    """Whether a column can be a row number, an epoch or a count."""
    return type(value) is int and 0 <= value < 1 << 62


def is_instant(value: object) -> bool:
    """Whether a column can be an instant."""
    return type(value) in (int, float)


def damaged(key: str, found: object) -> StoreError:
    """The refusal of a key whose rows are not what they must be."""
    return StoreError(
        f"the rows of {key!r} cannot be read: {found}; the file was changed by hand, restore a copy or delete the key",
        key=key,
    )


def guarded(key: str, job: Job[T]) -> Job[T]:
    """The job, whose failure to make sense of rows names the key."""

    def run(ledger: Ledger) -> T | BaseException:
        try:
            return job(ledger)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise damaged(key, error) from error
        except StoreError as error:
            if type(error) is StoreError and "key" not in error.fields:
                raise damaged(key, error) from error
            raise

    return run
