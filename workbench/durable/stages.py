"""Stages: a graph of named stages that is data, and the way that a process took through it.

- The field `stage` of a state is the node. The first stage that is declared is where one begins; a stage without
  successors is an end; to stay is always allowed.
- A transition that is not declared is an error before the state is seen by anybody.
- What was declared, what was taken and where one is are one shape, for every view.

Knows nothing of agents, and nothing of how a transition is journaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypedDict

from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["STAGE", "Edge", "StageGraph", "Stages", "stage_of", "stages_of"]

STAGE = "@stage"
"""The name of the records that say which stages were taken."""
FIELD = "stage"


class Edge(TypedDict):
    """A transition: whether it is declared, and how often it was taken."""

    source: str
    target: str
    declared: bool
    taken: int


class StageGraph(TypedDict):
    """What a view draws: the stages in order, the transitions, the way that was taken, and where it is now."""

    stages: list[str]
    edges: list[Edge]
    path: list[str]
    current: str | None


class Stages:
    """A declared graph. `of` names whose it is, for errors. Raises: BadInput for what is no graph of names."""

    def __init__(self, declared: Mapping[str, Iterable[str]], of: str) -> None:
        if not isinstance(declared, Mapping) or not declared:
            raise BadInput(f"the stages of {of} are a dict of stages and what may follow each, found {declared!r:.80}")
        self.of = of
        self.following = {stage: _names(after, stage, of) for stage, after in declared.items()}
        for stage in [*self.following, *(name for after in self.following.values() for name in after)]:
            if type(stage) is not str or not stage:
                raise BadInput(f"a stage of {of} is named by a text, found {stage!r}")
            self.following.setdefault(stage, ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stages) and self.following == other.following

    def __hash__(self) -> int:
        return hash(tuple(self.following.items()))

    @property
    def names(self) -> list[str]:
        """The stages, in the order of their declaration."""
        return list(self.following)

    def after(self, stage: str | None) -> tuple[str, ...]:
        """What may follow a stage; the first stage where there was none before."""
        return self.following.get(stage, ()) if stage is not None else (self.names[0],)

    def check(self, before: str | None, after: object, who: str) -> str:
        """The stage that `who` goes to. Raises: BadInput naming both stages and what is declared."""
        if type(after) is not str or after not in self.following:
            raise BadInput(
                f"{who} has the stage {after!r}, which is not declared; the stages of {self.of} are "
                f"{_listed(self.names)}",
                before=before,
                after=after,
            )
        if after != before and after not in self.after(before):
            begins = before is None
            way = f"begins at {after!r}" if begins else f"goes from {before!r} to {after!r}"
            may = f"{self.of} begins at" if begins else f"after {before!r} comes"
            raise BadInput(
                f"{who} {way}, which is not declared; {may} {_listed(self.after(before)) or 'nothing'}; "
                f"declare it in the stages of {self.of}, or go another way",
                before=before,
                after=after,
            )
        return after

    def graph(self, path: Sequence[str]) -> StageGraph:
        """The graph with the way that was taken; one of older code may have transitions that are not declared now."""
        taken: dict[tuple[str, str], int] = {}
        for step in pairwise(path):
            taken[step] = taken.get(step, 0) + 1
        declared = [(stage, after) for stage, following in self.following.items() for after in following]
        edges: list[Edge] = [
            {"source": edge[0], "target": edge[1], "declared": edge in declared, "taken": taken.get(edge, 0)}
            for edge in dict.fromkeys([*declared, *taken])
        ]
        stages = list(dict.fromkeys([*self.names, *path]))
        return {"stages": stages, "edges": edges, "path": list(path), "current": path[-1] if path else None}


def stage_of(state: Any) -> Any:
    """The stage that a state says, None where it says none."""
    stage = state.get(FIELD) if isinstance(state, Mapping) else getattr(state, FIELD, None)
    return stage.value if isinstance(stage, Enum) else stage


def stages_of(payloads: Iterable[Mapping[str, Any]]) -> list[str]:
    """The way through the stages that records of transitions tell, each `{"from", "to"}`, oldest first."""
    path: list[str] = []
    for move in payloads:
        if not path and move["from"] is not None:
            path.append(move["from"])
        if not path or path[-1] != move["to"]:
            path.append(move["to"])
    return path


def _names(after: object, stage: object, of: str) -> tuple[str, ...]:
    if isinstance(after, str) or not isinstance(after, Iterable):
        raise BadInput(f"what may follow stage {stage!r} of {of} is a list of stages, found {after!r:.80}")
    return tuple(dict.fromkeys(after))


def _listed(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)
