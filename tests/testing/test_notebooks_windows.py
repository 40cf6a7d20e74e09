"""The harness and our own windows: both ends of the protocol, without an agent between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from books import book

from workbench.errors import ClickRefused
from workbench.testing import Notebook
from workbench.testing.kernel import FrontEnd

SOURCE = """
import asyncio
from IPython.display import display
from workbench.errors import AlreadyDecided
from workbench.events import Changes
from workbench.widgets.process import ProcessWindow

class Order:
    def __init__(self):
        self.changes, self.decided, self.status = Changes(), asyncio.Event(), "waiting"
        self.subscribe = self.changes.subscribe

    def view(self):
        label = "Approve" if self.status == "waiting" else "Undo"
        now = {"tone": "plain", "shape": "running", "strong": "Running.", "text": "", "action": None}
        return {
            **{"kind": "process", "id": "A-1002", "name": "order", "key": None, "status": self.status, "alive": True},
            **{"elsewhere": None, "now": 0.0, "epoch": None, "pending": 0, "next_wake": None, "error": None},
            **{"state": None, "changed": [], "committed": True, "now_line": now, "lives": []},
            "actions": [{"label": label, "command": label.lower(), "args": {"big": 2**60}, "enabled": True}],
        }

    async def command(self, name, args):
        if name == "undo":
            raise AlreadyDecided("the first decision stands", id="A-1002")
        self.status = "approved"
        self.changes.tell()
        self.decided.set()
        return {"big": args["big"] + 1}

order = Order()
"""


@pytest.mark.parametrize("frontend", ["lab", "plain"])
async def test_a_window_is_clicked_followed_and_refuses(tmp_path: Path, frontend: FrontEnd) -> None:
    notebook = book(source=SOURCE, ask="display(ProcessWindow(order))\nawait order.decided.wait()\norder.status")

    async with Notebook(notebook, cwd=tmp_path, frontend=frontend) as nb:
        assert await nb.run_until(tag="ask") == "waits"

        assert await nb.click("Approve", in_="ask") == {"big": {"$int": str(2**60 + 1)}}

        assert await nb.run_all() == "finished"
        await nb.until(lambda: nb.widget("A-1002")["status"] == "approved", "the patch")
        with pytest.raises(ClickRefused, match="the first decision stands"):
            await nb.click("Undo")
        assert nb.output(tag="ask").endswith("'approved'")
