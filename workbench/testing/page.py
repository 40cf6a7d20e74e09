"""The page: the views that a notebook's outputs show, as a front end knows them, and which buttons they offer.

- A view is a widget model with the traits `state` and `revision`; patches move it, the whole replaces it.
- A patch that does not follow on the revision held is not applied: the page asks for the whole, as the browser does.
- A view greets its kernel when it is drawn, and offers nothing before the kernel has answered.
- A view of a kernel that is gone keeps its last picture and offers nothing.

Knows nothing of kernels: what it wants to say goes out through `send`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench import patch
from workbench.testing import cells

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["Offer", "Page", "View"]

QUESTIONS = {"approve", "answer"}  # the commands that end a wait for a person


@dataclass(frozen=True, slots=True)
class Offer:
    """A button in a view: what it is called, what it sends, and whether it may be pressed."""

    label: str
    command: str
    args: dict[str, Any]
    enabled: bool


@dataclass(slots=True)
class View:
    """One view as the front end last saw it. `alive` is False once its kernel or its model is gone."""

    id: str
    state: dict[str, Any]
    revision: int
    alive: bool = True
    answered: int = 0  # how often the kernel sent the whole
    missed: bool = False  # a patch was missed, and the whole is on its way
    failure: str = ""  # why the kernel could not make the view, when it could not
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind that the state names: run, approvals, process."""
        return str(self.state.get("kind", ""))

    @property
    def name(self) -> str:
        """What an error calls it: its kind, and the id of what it shows."""
        return " ".join(str(part) for part in (self.kind, self.state.get("id")) if part) or self.id

    def offers(self) -> list[Offer]:
        """Every button of the view, in the order of its state."""
        return list(_offers(self.state)) if self.alive and self.answered else []


class Page:
    """The views of one notebook, folded from comm messages. `send(model id, content)` carries what the page says."""

    def __init__(self, notebook: NotebookNode, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._notebook = notebook
        self._send = send
        self._views: dict[str, View] = {}

    def shown(self, where: str | None = None) -> list[View]:
        """The views that the outputs show, from top to bottom.

        `where` narrows to a cell's tag, a kind, a model, or the id of what is shown.
        """
        return [
            view
            for cell in self._notebook.cells
            for model in cells.models(cell)
            if (view := self._views.get(model)) is not None
            if where is None or where in (view.kind, view.id, view.state.get("id"), *cells.tags(cell))
        ]

    def offer(self, label: str, where: str | None = None) -> tuple[View, Offer] | None:
        """The first button of this label that may be pressed. A closing "…" of a label need not be written."""
        for view in self.shown(where):
            for offer in view.offers():
                if offer.enabled and offer.label.removesuffix("…") == label.removesuffix("…"):
                    return view, offer
        return None

    def labels(self, where: str | None = None) -> list[str]:
        """The labels on offer, each once."""
        return list(
            dict.fromkeys(offer.label for view in self.shown(where) for offer in view.offers() if offer.enabled)
        )

    def questions(self) -> dict[str, View]:
        """What waits for a decision: each thing that may be approved, with a view that asks."""
        return {
            json.dumps([offer.command, offer.args], sort_keys=True): view
            for view in self.shown()
            for offer in view.offers()
            if offer.enabled and offer.command in QUESTIONS
        }

    def opened(self, model: str, data: dict[str, Any]) -> None:
        """Take in a model. One that has no `state` and `revision` is somebody else's and is left alone."""
        traits = data.get("state", {})
        if isinstance(traits.get("state"), dict) and isinstance(traits.get("revision"), int):
            self._views[model] = View(model, traits["state"], traits["revision"])

    def greet(self, model: str) -> None:
        """Greet the kernel for a view that has just been drawn."""
        if (view := self._views.get(model)) is not None and view.alive:
            self._send(model, {"kind": "hello"})

    def received(self, model: str, data: dict[str, Any]) -> None:
        """Take in a message of a model: its traits, or one of the view's own messages."""
        view = self._views.get(model)
        if view is None:
            return
        if data.get("method") == "update":
            view.state = data["state"].get("state", view.state)
            view.revision = data["state"].get("revision", view.revision)
        elif data.get("method") == "custom":
            self._custom(view, data["content"])

    def closed(self, model: str) -> None:
        """The kernel closed this model."""
        if (view := self._views.get(model)) is not None:
            view.alive = False

    def disconnected(self) -> None:
        """The kernel is gone; every view keeps its last picture."""
        for view in self._views.values():
            view.alive = False

    def _custom(self, view: View, content: dict[str, Any]) -> None:
        match content:
            case {"kind": "whole", "revision": int(revision), "state": dict(state)}:
                view.state, view.revision, view.missed = state, revision, False
                view.answered += 1
            case {"kind": "patch", "revision": int(revision), "ops": list(ops)}:
                self._patch(view, revision, ops)
            case {"kind": "reply", "id": str(id)}:
                view.replies[id] = content
            case {"kind": "failed", "error": str(words)}:
                view.failure = words

    def _patch(self, view: View, revision: int, ops: list[Any]) -> None:
        if revision == view.revision + 1 and not view.missed:
            view.state, view.revision = patch.apply(view.state, ops), revision
        elif revision > view.revision and not view.missed:
            view.missed = True
            self._send(view.id, {"kind": "whole"})


def _offers(value: Any) -> Iterator[Offer]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "actions" and isinstance(inner, list):
                yield from (_offer(action) for action in inner)
            else:
                yield from _offers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _offers(inner)


def _offer(action: dict[str, Any]) -> Offer:
    return Offer(action["label"], action["command"], action.get("args", {}), bool(action.get("enabled", True)))
