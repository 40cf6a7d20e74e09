"""The words of an error on the command line: what it advises in Python is said as the verb that does the same here.

An error that comes through a door is translated once, at the door. Knows no verb but by its name.
"""

from __future__ import annotations

__all__ = ["IN_PYTHON", "on_the_line"]

IN_PYTHON = {
    "bench.keys() lists the keys, bench.runs.find() the runs": (
        "workbench keys lists the keys, workbench runs the runs"
    ),
    "bench.runs.find() lists": "workbench runs lists",
    "bench.keys() lists": "workbench keys lists",
    "bench.approvals.pending() lists": "workbench approvals lists",
    "bench.dead_letters lists": "workbench dead lists",
    "extend it with bench.budget.extend(…) or run.extend(…)": "extend it with workbench extend",
    "give the next one bench.run(…, budget=Budget(…))": "a run gets one when it begins, in Python",
    "await run.recover() carries on": "a worker carries on: workbench worker app:bench",
    "add it with bench.add(…)": "a worker whose application has it can: workbench worker app:bench",
    "see bench.doctor()": "see workbench doctor",
    "give unfinished=True to delete": "give --unfinished to delete",
}
"""What errors advise in Python, the longer first where one is within another, and the same on the command line."""


def on_the_line(words: str) -> str:
    """The words of an error as somebody at the command line can follow them."""
    for python, line in IN_PYTHON.items():
        words = words.replace(python, line)
    return words
