"""The remote handle: a process of another notebook as this one holds it, with everything that any handle has.

- Its state is kept here and changed by patches; while the link is lost it stays, and is stale.
- A call over a lost link fails at once; one whose answer is lost on the way may or may not have happened, and with the
  same id it can be asked again. A cast waits for the link.
- What is larger than a host takes is refused before it is sent, and the link stays.
- Disposing lets go of it here; the process stays.

Source: PROCESSES 5.1 and 5.2. Knows nothing of sockets.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from workbench import errors
from workbench.endpoints.wire_frames import FROM_CLIENT, REVISION, fitting, packed, text_of, unpacked
from workbench.errors import BadInput, LinkError, ProcessEnded, WorkbenchError
from workbench.patch import apply
from workbench.plain import decode
from workbench.process.handle import ENDED, Handle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

__all__ = ["RemoteHandle"]

KEPT = 64
"""Casts of one process that wait for the link."""

TOLD = frozenset(
    ("BadInput", "CallConflict", "CallRefused", "DeadLettered", "NoCode", "NotPlain", "OwnedElsewhere", "ProcessEnded")
)
"""The errors of a host that are raised here as what they were there."""


class Ends(Protocol):
    """What a handle asks of its link."""

    where: str

    @property
    def connected(self) -> bool:
        """Whether the link stands."""
        ...

    def post(self, frame: str) -> bool:
        """Send a frame if the link stands; gives whether it does."""
        ...

    def forget(self, handle: RemoteHandle) -> None:
        """Hear nothing more of a process."""
        ...


class RemoteHandle(Handle):
    """A handle to a process over a link. Made by `Link.lookup`."""

    def __init__(self, link: Ends, ref: str, name: str, args: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.ref = ref
        self.args = dict(args)
        self.lookup = self._frame("lookup", f"the lookup of {name!r:.40}", name=name, v=REVISION, args=self.args)
        self._link = link
        self._raw: Any = None
        self._whole = False
        self._ids = 0
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._casts: deque[tuple[int, str]] = deque()

    @property
    def over(self) -> bool:
        """Whether it has ended, there or here."""
        return self._status in ENDED

    @property
    def stale(self) -> bool:
        return self.states.ready and (not self._link.connected or super().stale)

    def cast(self, message: Any) -> Awaitable[int]:
        """Post a message, at once or when the link is back; await it for its number over there.

        Raises: NotPlain, and BadInput for more than a host takes. What is awaited raises LinkError when the link is
        lost before it is heard of, or when newer casts took its place.
        """
        frame = self._frame("cast", self._message, id=self._ids + 1, msg=packed(message, "message"))
        id, posted = self._ask()
        if self.over:
            posted.set_exception(self._ended())
            return posted
        if not self._link.post(frame):
            self._casts.append((id, frame))
            if len(self._casts) > KEPT:
                oldest, _ = self._casts.popleft()
                self._fail(oldest, f"{KEPT} newer casts to {self.name!r} wait for the link to {self._link.where}")
        return posted

    def call(self, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Post a message and await its answer. Nothing is called again by itself.

        Raises: NotPlain, and BadInput for more than a host takes; what is awaited raises LinkError while the link is
        lost, and what the call raises over there.
        """
        packed_message = packed(message, "message")
        frame = self._frame("call", self._message, id=self._ids + 1, msg=packed_message, call_id=id)
        number, answer = self._ask()
        if self.over:
            answer.set_exception(self._ended())
        elif not self._link.post(frame):
            self._fail(number, f"the link to {self._link.where} is lost; {self.name!r} was not called")
        return answer

    def dispose(self) -> Awaitable[None]:
        """Let go of it here; the process stays."""
        if not self.over:
            self._link.forget(self)
            self.left()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def details(self) -> dict[str, Any]:
        return super().details() | {"elsewhere": self._link.where}

    def buttons(self) -> list[tuple[str, str, bool]]:
        return []

    # What its link tells it.

    def hear(self, frame: Mapping[str, Any]) -> bool:
        """Take what the host says of it; False when that does not fit what it said before."""
        match frame["type"]:
            case "yield":
                return self._take(frame["patch"])
            case "status":
                if frame["status"] not in ENDED:
                    self._become(frame["status"])
            case "reply":
                self._settle(frame["id"], frame["value"])
            case "raise" if frame["id"] is not None:
                self._raise(frame["id"], frame["error"])
            case "raise":
                self.error = _error(frame["error"], self._link.where)
                self._end("crashed")
            case "done":
                self._end("done")
        return True

    def back(self) -> None:
        """The link stands, and it was looked up over it: what waited goes out."""
        self._whole = False
        while self._casts:
            _, frame = self._casts.popleft()
            self._link.post(frame)
        self.states.tell()

    def lost(self) -> None:
        """The link is lost: what was on its way may or may not have happened."""
        waiting = {id for id, _ in self._casts}
        for id in [id for id in self._asked if id not in waiting]:
            self._fail(
                id,
                f"the link to {self._link.where} was lost before {self.name!r} answered, which may or may not have "
                "happened; call again with the same id",
            )
        self.states.tell()

    def left(self) -> None:
        """Nobody here holds it any more."""
        self._end("disposed")

    def _take(self, patch: list[Any]) -> bool:
        whole = len(patch) == 1 and patch[0][:2] == ["set", ""]
        if not whole and not self._whole:
            return False
        try:
            self._raw = apply(self._raw, patch)
            text = json.dumps(self._raw, ensure_ascii=False, separators=(",", ":"))
            decode(text)
        except (BadInput, RecursionError):
            return False
        self._whole = True
        self.states.publish(text)
        return True

    def _end(self, status: str) -> None:
        self._become(status)
        for id in list(self._asked):
            self._settle_with(id, self._ended())
        self._casts.clear()

    def _ended(self) -> WorkbenchError:
        words = f"{self.name!r} over the link to {self._link.where} is {self.status}"
        ended = ProcessEnded(words, name=self.name, status=self.status)
        ended.__cause__ = self.error
        return ended

    @property
    def _message(self) -> str:
        return f"the message to {self.name!r}"

    def _frame(self, kind: str, what: str, **fields: Any) -> str:
        return fitting(text_of(kind, ref=self.ref, **fields), what, FROM_CLIENT)

    def _ask(self) -> tuple[int, asyncio.Future[Any]]:
        self._ids += 1
        self._asked[self._ids] = answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done, id=self._ids: self._asked.pop(id, None))  # type: ignore[misc]
        return self._ids, answer

    def _settle(self, id: int, value: Any) -> None:
        asked = self._asked.get(id)
        if asked is not None and not asked.done():
            try:
                asked.set_result(unpacked(value))
            except BadInput as error:
                asked.set_exception(LinkError(f"the answer of {self.name!r} cannot be read: {error}"))

    def _raise(self, id: int, told: Mapping[str, Any]) -> None:
        self._settle_with(id, _error(told, self._link.where))

    def _fail(self, id: int, words: str) -> None:
        self._settle_with(id, LinkError(words, place=self._link.where))

    def _settle_with(self, id: int, error: BaseException) -> None:
        asked = self._asked.get(id)
        if asked is not None and not asked.done():
            asked.set_exception(error)
            asked.exception()  # a cast that nobody awaits is its caller's choice; asyncio must not warn of it


def _error(told: Mapping[str, Any], where: str) -> WorkbenchError:
    """The error that a host tells of, as what it was there if it is one that callers act on."""
    kind, words = str(told.get("type")), str(told.get("message"))
    if kind in TOLD:
        made: WorkbenchError = getattr(errors, kind)(words, place=where)
        return made
    return LinkError(f"{where} says {kind}: {words}", place=where)
