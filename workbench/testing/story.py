"""The story: lesson 02 in real kernels, from the first message over a SIGKILL to the proof, every claim checked.

- One person's part is played for real: a click that goes through the window's comm while a cell awaits the run, and a
  SIGKILL.
- What is checked is read from files that the runtime does not write: the bank's, the mail server's, the model's.
- Between the two kernels the store is opened by another host that runs nothing, to tell what the journal has.

Knows nothing of how it is printed: `tell(text)` hears each line as it happens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter

from workbench.bench import Workbench
from workbench.errors import NotShown
from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

__all__ = ["Check", "Story", "checks", "tell_the_story"]

RUN = "lesson-02"
FOLDER = "lesson-02"
LESSON = "02_it_survives.ipynb"


@dataclass(frozen=True, slots=True)
class Check:
    """Something the story claims, whether it is so, and what was seen."""

    claim: str
    holds: bool
    seen: str


@dataclass(slots=True)
class Story:
    """What came of it: the checks, and where the executed notebook and its HTML lie."""

    checks: list[Check] = field(default_factory=list)
    notebook: Path = Path()
    html: Path = Path()
    store: Path = Path()

    @property
    def true(self) -> bool:
        """Whether everything it claims is so."""
        return bool(self.checks) and all(check.holds for check in self.checks)


async def tell_the_story(into: Path, tell: Callable[[str], None]) -> Story:
    """Play lesson 02 in kernels that work in the folder `into`, which must not have been used for it before.

    Raises: NotShown when the folder has been used, and what the harness raises when a kernel does not do its part.
    """
    folder = into / FOLDER
    if folder.exists():
        raise NotShown(
            f"{str(folder)!r} is there already; the story begins with nothing: name another folder",
            asked=FOLDER,
            found="a folder",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def at(text: str) -> None:
        tell(f"{time.monotonic() - began:6.1f} s  {text}")

    async with Notebook(lesson(LESSON), cwd=into) as notebook:
        before = await _first_kernel(notebook, folder, at)
        at("KILL     SIGKILL, between the refund and the receipt")
        await notebook.kill()
        await _look_at_the_journal(folder, at)
        await notebook.restart()
        at(f"kernel 2 starts (process {notebook.pid}) and opens the same file")
        await notebook.run_all()
        for line in _second_life(notebook.widget("run")):
            at(f"           {line}")
        at(f"run      {notebook.output('ask')}")
        story = Story(
            checks(folder, notebook, before),
            into / LESSON,
            into / LESSON.replace(".ipynb", ".html"),
            folder / "agents.db",
        )
        await notebook.save(story.notebook)
    _export(story)
    return story


async def _first_kernel(notebook: Notebook, folder: Path, at: Callable[[str], None]) -> dict[str, Any]:
    """Run to the question, click, and wait until the receipt hangs; gives what was so before the kill."""
    at("kernel 1 starts")
    await notebook.run_until("ask")
    at(f"kernel 1 is process {notebook.pid}; a cell awaits the run, and a tool waits for you")
    reply = await notebook.click("Approve")
    at(f"click    Approve, through the window's comm while the cell awaits: {reply['status']}")
    await notebook.until(
        lambda: _lines(folder, "mail-attempts.log") and _is_cancelled(notebook.widget("run")), "the email to hang"
    )
    refund = _lines(folder, "refunds.log")[0]
    at(f"bank     {refund['refund_id']} for {refund['order']}, key {refund['key']}")
    at("mail     asked to send the receipt, does not answer")
    return {
        "clicked": reply,
        "pid": notebook.pid,
        "receipts": len(_lines(folder, "mail.log")),
        "turns": len(_lines(folder, "model.log")),
    }


async def _look_at_the_journal(folder: Path, at: Callable[[str], None]) -> None:
    """Tell what the journal has of the run that was cut off, and what a recovery will do."""
    async with Workbench.open(folder / "agents.db", worker=False) as bench:
        at("journal  what it has, and what a new kernel will do:")
        for group in bench.runs[RUN].view()["recovery"]:
            for part in group["parts"]:
                at(f"           {group['group']:<11} {part['part']}: {part['has']}; {part['does']}")


def _is_cancelled(view: dict[str, Any]) -> bool:
    """Whether the approved call has its outcome, so that the kill cuts off the email alone."""
    return any(
        row["kind"] == "call" and (row["tool"], row["status"]) == ("cancel_order", "success") for row in view["rows"]
    )


def _second_life(view: dict[str, Any]) -> list[str]:
    """What the second kernel did with each part of the run, in order."""
    lines = []
    for row in view["rows"]:
        if row["kind"] == "message" and row["turn"]:
            lines.append(f"{'replayed' if row['replayed'] else 'asked':<11} model turn {row['turn']}")
        if row["kind"] == "call":
            for step in row["steps"]:
                did = "replayed" if step["replayed"] else "ran again" if step["ran_again"] else "ran"
                lines.append(f"{did:<11} {row['tool']} step {step['name']}, key {step['key']}")
            lines.append(f"{'replayed' if row['replayed'] else 'finished':<11} {row['tool']}: {row['status']}")
    return lines


def checks(folder: Path, notebook: Notebook, before: dict[str, Any]) -> list[Check]:
    """Everything that the story claims, held against the files in `folder` and the executed notebook."""
    refunds, receipts, asked = (_lines(folder, name) for name in ("refunds.log", "mail.log", "model.log"))
    attempts, cancelled = _lines(folder, "mail-attempts.log"), _lines(folder, "cancelled.log")
    refund: dict[str, Any] = refunds[0] if refunds else {"refund_id": "", "key": "", "call": "", "pid": 0}
    turns = [line["turn"] for line in asked]
    output = str(notebook.output("ask"))
    return [
        Check(
            "refunds.log has exactly one line, with its idempotency key and call id",
            len(refunds) == 1 and bool(refund["key"]) and bool(refund["call"]),
            f"{len(refunds)} line: {refund['refund_id']}, key {refund['key']}, call {refund['call']}",
        ),
        Check(
            "the receipt was sent once, after the restart",
            before["receipts"] == 0 and len(receipts) == 1 and receipts[0]["pid"] != before["pid"],
            f"{before['receipts']} before the kill, {len(receipts)} after it",
        ),
        Check(
            "the interrupted step ran again under the same key",
            len(attempts) == 2
            and attempts[0]["key"] == attempts[1]["key"]
            and attempts[0]["pid"] != attempts[1]["pid"],
            f"{len(attempts)} tries, {len({line['key'] for line in attempts})} key",
        ),
        Check(
            "the run's output carries the refund id of that one line",
            bool(refund["refund_id"]) and refund["refund_id"] in output,
            output,
        ),
        Check(
            "the model was asked once per turn, over both kernels",
            turns == sorted(set(turns)) and len(turns) == 2,
            f"turns {turns}",
        ),
        Check(
            "one approval was decided by a click while a cell awaited the run, and its tool ran once",
            before["clicked"]["status"] == "approved" and len(cancelled) == 1,
            f"{before['clicked']['id']} {before['clicked']['status']}, {len(cancelled)} order cancelled",
        ),
        Check(
            "every cell of the second kernel passed, its proofs included",
            not notebook.errors,
            f"{len(notebook.errors)} errors",
        ),
    ]


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _export(story: Story) -> None:
    """Write the executed notebook as HTML, readable without a kernel."""
    executed = nbformat.read(story.notebook, as_version=4)
    body, _ = HTMLExporter().from_notebook_node(executed, resources={"metadata": {"name": story.html.stem}})
    story.html.write_text(body, encoding="utf-8")
