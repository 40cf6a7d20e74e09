"""Retries: how often a step is tried, and how its tries outlive the kernel.

- A try that failed is a record of its step: how many there were, how it failed, and when the next one begins. A kernel
  that is killed in the back-off neither starts over nor forgets: the next one waits for what is left of it.
- What another try cannot mend is not tried again: a step where none can be, a result that the journal cannot hold, what
  `Retry.fatal` names, and an error that says so itself (an attribute `retryable` that is False).
- An error that knows when another try is worth while says so (an attribute `retry_after`, in seconds): nothing is tried
  before that.
- Each try finds the steps that were finished inside of the one before, so none of them is done twice.

Source: PROCESSES B.4, CASES 38, 39. Knows nothing of how a function is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from workbench.durable.results import failed, is_failure
from workbench.errors import BadInput, NotPlain, StepMisuse, WorkbenchError
from workbench.given import LONGEST, MOST, shown
from workbench.plain import decode, encode
from workbench.words import kind_and_words

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.clock import Clock
    from workbench.store.journal import StepRecord

__all__ = ["Retry", "Try", "in_time", "try_again"]

T = TypeVar("T")
Fatal: TypeAlias = type[BaseException] | tuple[type[BaseException], ...] | Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a step is tried: `times` in all, waiting between the tries.

    The first wait is `backoff` seconds, each one after it `factor` times as long, none longer than `longest` seconds.
    `fatal` names what is not tried again: a type of exceptions, several, or a function that says so of one.
    Raises: BadInput for what cannot be.
    """

    times: int = 3
    backoff: float = 1.0
    factor: float = 2.0
    longest: float = 3600.0
    fatal: Fatal = ()

    def __post_init__(self) -> None:
        if type(self.times) is not int or not 1 <= self.times <= MOST:
            raise BadInput(f"Retry tries a step a whole number of times from 1, found times={shown(self.times)}")
        for name, least in (("backoff", 0), ("factor", 1), ("longest", 0)):
            value = getattr(self, name)
            if type(value) not in (int, float) or not least <= value <= LONGEST:
                raise BadInput(f"Retry needs a number from {least} for {name}, found {name}={shown(value)}")
        types = self.fatal if isinstance(self.fatal, tuple) else (self.fatal,)
        says = callable(self.fatal) and not isinstance(self.fatal, type)
        if not says and not all(isinstance(one, type) and issubclass(one, BaseException) for one in types):
            raise BadInput(
                f"Retry names what is fatal by types of exceptions or by a function, found fatal={self.fatal!r}"
            )

    def wait_after(self, number: int, error: BaseException | None = None) -> float:
        """Seconds between the try `number`, from 1, which failed with `error`, and the next one."""
        asked = getattr(error, "retry_after", None)
        least = asked if isinstance(asked, (int, float)) and asked > 0 else 0.0
        try:
            return float(min(self.longest, max(least, self.backoff * self.factor ** (number - 1))))
        except OverflowError:
            return float(self.longest)

    def is_fatal(self, error: BaseException) -> bool:
        """Whether another try cannot mend this."""
        if isinstance(error, (StepMisuse, NotPlain)) or getattr(error, "retryable", None) is False:
            return True
        if isinstance(self.fatal, (type, tuple)):
            return isinstance(error, self.fatal)
        return bool(self.fatal(error))


@dataclass(frozen=True, slots=True)
class Try:
    """A try of a step that failed: which one it was, when the next one begins (UTC seconds), and why.

    `fields` are those of the error, where it is one of the workbench's own and they are plain data.
    """

    number: int
    next_at: float
    why: str
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, record: StepRecord) -> Try:
        """What the record of a try says."""
        return cls(**decode(record.payload))

    @property
    def text(self) -> str:
        """The payload of its record."""
        made = {"number": self.number, "next_at": self.next_at, "why": self.why}
        return encode({**made, "fields": self.fields} if self.fields else made)


async def try_again(
    attempt: Callable[[], Awaitable[T]],
    retry: Retry,
    name: str,
    clock: Clock,
    last: Try | None,
    keep: Callable[[Try], Awaitable[None]],
) -> T:
    """What `attempt` gives, tried as often as `retry` says from the try after `last` on; each failure is kept first.

    Raises: StepFailed after the last try, or after one that is fatal; what `keep` raises.
    """
    number = 0
    if last is not None:
        number = last.number
        await clock.sleep_until(last.next_at)
    while True:
        try:
            return await attempt()
        except BaseException as error:
            if not is_failure(error):
                raise
            number += 1
            fatal = retry.is_fatal(error)
            if fatal or number >= retry.times:
                raise failed(name, error, retryable=not fatal) from error
            next_at = clock.now() + retry.wait_after(number, error)
            last = Try(number, next_at, kind_and_words(error), _fields_of(error))
            await keep(last)
        await clock.sleep_until(last.next_at)


def _fields_of(error: BaseException) -> dict[str, Any]:
    fields = error.fields if isinstance(error, WorkbenchError) else {}
    try:
        encode(fields)
    except NotPlain:
        return {}
    return fields


async def in_time(called: Awaitable[Any], seconds: float, name: str) -> Any:
    """What `called` gives within `seconds`. Raises: TimeoutError, which names the step."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await called
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(
            f"step {name!r} did not finish within {seconds:g} s; a plain function goes on in its thread, and what it "
            "gives is lost"
        ) from error
