"""Durable definitions: what `@durable` makes of an async generator function.

The key says which arguments are one process; the version says which shape its state has. Source: DESIGN 2, PROCESSES
2.1 and 2.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.durable.fingerprint import fingerprint
from workbench.durable.keys import KeyMaker, key_maker
from workbench.durable.stages import Stages
from workbench.errors import BadInput
from workbench.given import whole
from workbench.plain import decode
from workbench.process.definition import Body, Definition

__all__ = ["DurableDefinition", "durable"]

Migrate = Callable[[Any, int], Any]
FULL = ("wait", "refuse")


class DurableDefinition(Definition):
    """A durable process body with its options."""

    def __init__(
        self,
        body: Body,
        *,
        key: str | KeyMaker,
        name: str | None = None,
        version: int = 0,
        migrate: Migrate | None = None,
        max_attempts: int = 3,
        mailbox: int | None = None,
        full: str = "wait",
        restart: str = "never",
        max_restarts: int | None = 3,
        window: float | None = None,
        backoff: float = 0.0,
        evict: float | None = None,
        quiet: bool = False,
        stages: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        super().__init__(
            body,
            name=name,
            mailbox=mailbox,
            restart=restart,
            max_restarts=max_restarts,
            window=window,
            backoff=backoff,
            evict=evict,
            quiet=quiet,
        )
        if "take" in self.signature.parameters:
            raise BadInput(f"{self.name} has a parameter 'take', which bench.lookup has for itself; name it otherwise")
        whole(f"version of {self.name}", version, 0)
        whole(f"max_attempts of {self.name}", max_attempts, 1)
        if migrate is not None and not callable(migrate):
            raise BadInput(f"migrate of {self.name} is a function of a state and its version, found {migrate!r}")
        if mailbox == 0 or full not in FULL:
            raise BadInput(
                f"mailbox of {self.name} is a whole number from 1 or None, and full one of {FULL}, "
                f"found {mailbox!r} and {full!r}"
            )
        self.full = full
        self.stages = None if stages is None else Stages(stages, self.name)
        self.code = fingerprint(body)
        self.version = version
        self.migrate = migrate
        self.max_attempts = max_attempts
        self.key_of = key_maker(key, list(self.signature.parameters)[1:], self.name)

    def restore(self, key: str, text: str, version: int) -> tuple[str, Any]:
        """The stored state `text` of `version` as this version has it: its text, and the value that the body gets.

        Raises: BadInput when it is of another version and there is no `migrate`; what `migrate` raises.
        """
        shape = self.shapes[1]
        if version > self.version:
            raise BadInput(
                f"{key!r} has a state of version {version} and {self.name} is version {self.version}: the code is too "
                "old; add the newer one with bench.add(…)"
            )
        if version != self.version:
            if self.migrate is None:
                raise BadInput(
                    f"{key!r} has a state of version {version} and {self.name} is version {self.version}; "
                    "give the definition a migrate=…"
                )
            text = shape.encode(self.migrate(decode(text), version), "the migrated state")
        return text, shape.decode(text)


def durable(
    *,
    key: str | KeyMaker,
    name: str | None = None,
    version: int = 0,
    migrate: Migrate | None = None,
    max_attempts: int = 3,
    mailbox: int | None = None,
    full: str = "wait",
    restart: str = "never",
    max_restarts: int | None = 3,
    window: float | None = None,
    backoff: float = 0.0,
    evict: float | None = None,
    quiet: bool = False,
    stages: Mapping[str, Iterable[str]] | None = None,
) -> Callable[[Body], DurableDefinition]:
    """Make an async generator function a durable process definition.

    `key` is a template over the body's parameters, e.g. "order:{id}". `version` numbers the shape of the state;
    `migrate(state, version)` turns an older one into this one when it is loaded. A message that fails `max_attempts`
    times is set aside. `mailbox` bounds the messages in the log: above it what is sent here has to "wait" for room, and
    its receipt with it, or is refused, as `full` says, from any kernel. `restart` and
    `max_restarts` are those of `process`, for a body that fails outside any message; `backoff` and `window` hold for
    failed messages too: when one is delivered again is in the journal, and attempts older than the window are
    forgotten. `evict` is after how many idle seconds it leaves memory, where a sleeping one is idle: its deadline
    brings it back. `quiet` is that of `process`. `stages` declares what may follow each stage, `{"open": ["paid"], …}`:
    every state then has a field `stage`, which begins at the first one, and a transition that is not declared fails its
    message.
    Raises: BadInput for an option that cannot be.
    """
    return lambda body: DurableDefinition(
        body,
        key=key,
        name=name,
        version=version,
        migrate=migrate,
        max_attempts=max_attempts,
        mailbox=mailbox,
        full=full,
        restart=restart,
        max_restarts=max_restarts,
        window=window,
        backoff=backoff,
        evict=evict,
        quiet=quiet,
        stages=stages,
    )
