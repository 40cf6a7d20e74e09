"""What only a durable process knows, for its inspector: key, owner, epoch, lives, and what is in the journal.

Reads what is committed and what is live, and carries out buttons by the verbs of the handle. Knows nothing of how it
looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.durable.stages import stage_of
from workbench.durable.staging import way_of
from workbench.errors import BadInput, Drift
from workbench.process.handle import ENDED
from workbench.process.inspector import Inspector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workbench.durable.process import DurableProcess
    from workbench.durable.requests import Requests
    from workbench.durable.stages import StageGraph
    from workbench.store.store import Store

__all__ = ["DurableInspector", "buttons", "details", "press"]


class DurableInspector(Inspector):
    """The source of its window: the questions of the bench are followed too, since it may wait for one."""

    def __init__(self, process: DurableProcess, requests: Requests) -> None:
        super().__init__(process)
        self._requests = requests

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        stops = [super().subscribe(changed), self._requests.changes.subscribe(changed)]

        def stop() -> None:
            for each in stops:
                each()

        return stop


def details(process: DurableProcess, store: Store) -> dict[str, Any]:
    """The fields of `ProcessView` that a plain process does not have, read now."""
    info = next(iter(store.keys_now(key=process.key)), None)
    owner = process.elsewhere
    return {
        "key": process.key,
        "alive": owner is not None or process.status not in ENDED,
        "elsewhere": None if owner is None else f"{owner.label}, pid {owner.pid}",
        "epoch": process.epoch,
        "pending": process.pending,
        "next_wake": None if info is None else info.wake_at,
        "stages": _stages(process, store),
        "committed": info is not None and info.snapshot == process.states.text,
        "lives": [
            {"epoch": life.epoch, "began_at": life.began_at, "ended_at": life.ended_at, "how": life.how, "by": life.by}
            for life in store.activations_now(process.key)
        ],
    }


def _stages(process: DurableProcess, store: Store) -> StageGraph | None:
    """The declared stages, the way that was taken, and where it is now; None for one without stages."""
    stages, stamp = process.definition.stages, process.states.stamp()
    if stages is None:
        return None
    if process.drawn is None or process.drawn[0] != stamp:
        path, now = way_of(store.history_now(process.key)), stage_of(process.state)
        process.drawn = stamp, stages.graph(path if now is None or path[-1:] == [now] else [*path, str(now)])
    return process.drawn[1]


CHOOSE = [("Start over", "start_over", True), ("Accept", "accept", True), ("Set aside", "set_aside", True)]


def buttons(process: DurableProcess) -> list[tuple[str, str, bool]]:
    """Kill while it lives here; Recover once it does not, and the choices where its code asks for other steps."""
    here = process.elsewhere is None and process.status not in ENDED
    gone = process.elsewhere is None and process.status in ENDED
    choices = CHOOSE if gone and isinstance(process.error, Drift) else []
    return [("Kill", "kill", here), *([("Recover", "recover", True)] if gone else []), *choices]


async def press(process: DurableProcess, command: str) -> None:
    """Carry out a button. Raises: BadInput for one that there is not, and what its verb raises."""
    verbs: dict[str, Callable[[], Awaitable[None]]] = {
        "kill": process.kill,
        "recover": process.recover,
        "start_over": process.start_over,
        "accept": process.accept,
        "set_aside": process.set_aside,
    }
    verb = verbs.get(command)
    if verb is None:
        raise BadInput(f"{process.key!r} has no command {command!r}; it has {', '.join(verbs)}")
    await verb()
