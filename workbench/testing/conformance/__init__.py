"""The laws of a store: what every keeper promises, as functions that ship with the package.

A keeper of your own certifies in three lines of its tests, or without a test framework:

    @pytest.mark.parametrize("law", laws(), ids=str)
    async def test_the_keeper_keeps(law, make_store):
        await law(make_store)

    asyncio.run(check(make_place))  # the laws that it breaks, by name, with what they said

`make_store()` gives a keeper that is not open yet; each call gives one more host of one place, which was empty at the
first. `make_place()` gives a `make_store` of a fresh place. How it stands crashes: `workbench.testing.crash_suite`.
"""

from __future__ import annotations

from workbench.errors import Signal
from workbench.testing.conformance.beginnings import BEGINNINGS
from workbench.testing.conformance.beyond import BEYOND
from workbench.testing.conformance.claims import CLAIMS
from workbench.testing.conformance.conversations import CONVERSATIONS
from workbench.testing.conformance.glance import GLANCE
from workbench.testing.conformance.history import HISTORY
from workbench.testing.conformance.journal import JOURNAL
from workbench.testing.conformance.law import Law, MakePlace, MakeStore
from workbench.testing.conformance.letters import LETTERS
from workbench.testing.conformance.notes import NOTES
from workbench.testing.conformance.queues import QUEUES
from workbench.testing.conformance.records import RECORDS
from workbench.testing.conformance.retention import RETENTION
from workbench.testing.conformance.schedules import SCHEDULES
from workbench.testing.conformance.topics import TOPICS
from workbench.testing.conformance.wakes import WAKES

__all__ = ["Law", "MakePlace", "MakeStore", "check", "laws"]


def laws() -> tuple[Law, ...]:
    """Every law, in the order in which they are best read."""
    return (
        *(*JOURNAL, *WAKES, *RETENTION, *HISTORY, *BEYOND, *CLAIMS, *BEGINNINGS, *GLANCE),
        *(*RECORDS, *LETTERS, *QUEUES, *TOPICS, *SCHEDULES, *CONVERSATIONS, *NOTES),
    )


async def check(make_place: MakePlace) -> dict[str, BaseException]:
    """Run every law against a fresh place of its own; gives the laws that fail, by name, with what they said."""
    broken: dict[str, BaseException] = {}
    for law in laws():
        try:
            await law(make_place())
        except (Exception, Signal) as error:
            broken[law.name] = error
    return broken
