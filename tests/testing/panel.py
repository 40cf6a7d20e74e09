"""A small panel that speaks the protocol of our views; its text is the first cell of notebooks in these tests."""

import asyncio
import threading

import anywidget
import traitlets
from IPython.display import display  # noqa: F401 - for the cells after this one

from workbench.patch import apply

HOME = asyncio.get_running_loop()


class Panel(anywidget.AnyWidget):
    """A question: what was asked for, the buttons on offer, and what was decided."""

    _esm = "export default { render() {} }"
    state = traitlets.Dict().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)

    def __init__(self, id="r1", labels=("Approve", "Reject…"), refuse=""):
        approval = {"id": f"{id}.1", "actions": [_action(label, f"{id}.1") for label in labels]}
        state = {
            "kind": "run",
            "id": id,
            "status": "waiting",
            "rows": [{"approval": approval}],
            "actions": [_action("Kill", id)],
        }
        super().__init__(state=state)
        self.refuse = refuse
        self.decided = asyncio.Event()
        self.heard = []
        self.threads = []
        self.on_msg(self._hear)

    def __repr__(self):
        return f"<panel {self.state['id']} {self.state['status']}>"

    def _hear(self, _, content, buffers):
        self.threads.append(threading.current_thread().name)
        HOME.call_soon_threadsafe(self._answer, content)

    def _answer(self, content):
        self.heard.append(content["kind"])
        if content["kind"] in ("hello", "whole"):
            self.send({"kind": "whole", "revision": self.revision, "state": self.state})
        elif self.refuse:
            self.send({"kind": "reply", "id": content["id"], "error": self.refuse})
        else:
            self.send({"kind": "reply", "id": content["id"], "ok": {"done": content["command"], **content["args"]}})
            self.decide(content["command"])

    def decide(self, command):
        self.patch([["set", "/status", command], ["set", "/rows/0/approval/actions", []]])
        self.decided.set()

    def patch(self, ops, lost=False):
        self._trait_values |= {
            "state": apply(self.state, ops),
            "revision": self.revision + 1,
        }  # told by patch, not by trait
        if not lost:
            self.send({"kind": "patch", "revision": self.revision, "ops": ops})


def _action(label, id):
    return {"label": label, "command": label.rstrip("…").lower(), "args": {"id": id}, "enabled": True}
