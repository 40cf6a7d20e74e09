"""SIGKILL at every point of a message's life: what was acknowledged stays, what was finished is not repeated.

The run lives in real kernels, the order, for which a kernel makes no difference, in plain processes.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lives import kill_program_at, killed_at, left, lines, run_program, told

RUN_POINTS = ("appended", "begun", "inside-charge", "saved", "asked", "decided", "uncommitted")
ORDER_POINTS = ("appended", "inside-charge", "saved", "inside-mail", "uncommitted", "answered")


class Stories:
    """The stories told so far: whole ones, and folders of killed ones, copied for each who goes on with one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._whole: dict[str, dict[str, Any]] = {}
        self._killed: set[Path] = set()

    async def whole(self, story: str) -> dict[str, Any]:
        """What the story comes to when nobody kills it."""
        if story not in self._whole:
            folder = self._folder / story
            folder.mkdir()
            self._whole[story] = await tell(folder, story)
        return self._whole[story]

    async def killed(self, story: str, point: str, folder: Path) -> Path:
        """A folder in which the story was killed at `point`."""
        killed = self._folder / f"{story}-{point}"
        if killed not in self._killed:
            killed.mkdir()
            if story == "run_life":
                await killed_at(killed, story, point)
            else:
                kill_program_at(killed, story, point)
            self._killed.add(killed)
        return Path(shutil.copytree(killed, folder / point))


async def tell(folder: Path, story: str, without: str = "") -> dict[str, Any]:
    """The story told to its end in `folder`, `without` a part of the runtime if need be; what it left behind."""
    if story == "run_life":
        return await told(folder, story, without)
    assert run_program(folder, story, WITHOUT=without) == 0
    return left(folder)


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Stories:
    """Those of this module."""
    return Stories(tmp_path_factory.mktemp("stories"))


def check(end: dict[str, Any], whole: dict[str, Any], point: str) -> None:
    """The end is that of the undisturbed story; only the effect that was cut is there twice, under one key."""
    again = Counter(line for line in whole["effects"] if point == f"inside-{line.split()[0]}")
    assert end["state"] == whole["state"]
    assert end["effects"] == whole["effects"] + again
    assert end["turns"] == whole["turns"]
    assert end.get("answer") == whole.get("answer")


async def test_the_undisturbed_story_is_what_it_should_be(stories: Stories) -> None:
    run, order = await stories.whole("run_life"), await stories.whole("order_life")

    assert run["state"]["status"] == "completed"
    assert run["state"]["output"] == "All done."
    assert run["effects"] == {
        "charge run:r1#1#t1.0#charge#0": 1,
        "mail run:r1#1#t1.0#mail#0": 1,
        "cancel run:r1#1#t2.0": 1,
    }
    assert run["turns"] == [0, 1, 2]
    assert order["state"] == {"total": 30, "receipts": ["charge done for A-1001"]}
    assert order["answer"] == 30
    assert order["effects"] == {"charge order:A-1001#2##charge#0": 1, "mail order:A-1001#2##mail#0": 1}


@pytest.mark.parametrize("point", RUN_POINTS)
async def test_a_killed_run_ends_as_if_undisturbed(stories: Stories, tmp_path: Path, point: str) -> None:
    folder = await stories.killed("run_life", point, tmp_path)

    end = await tell(folder, "run_life")

    check(end, await stories.whole("run_life"), point)
    assert len(set(lines(folder / "requests"))) == 1


@pytest.mark.parametrize("point", ORDER_POINTS)
async def test_a_killed_process_ends_as_if_undisturbed(stories: Stories, tmp_path: Path, point: str) -> None:
    folder = await stories.killed("order_life", point, tmp_path)

    end = await tell(folder, "order_life")

    check(end, await stories.whole("order_life"), point)


@pytest.mark.parametrize(
    ("story", "point", "without"),
    [
        ("run_life", "appended", "wake-up"),
        ("run_life", "begun", "look-up"),
        ("run_life", "inside-charge", "look-up"),
        ("run_life", "saved", "look-up"),
        ("run_life", "uncommitted", "look-up"),
        ("run_life", "asked", "wake-up"),
        ("run_life", "decided", "wake-up"),
        ("order_life", "inside-mail", "look-up"),
        ("order_life", "saved", "look-up"),
        ("order_life", "uncommitted", "look-up"),
    ],
)
async def test_without_a_part_of_the_runtime_the_check_fails(
    stories: Stories, tmp_path: Path, story: str, point: str, without: str
) -> None:
    folder = await stories.killed(story, point, tmp_path)

    end = await tell(folder, story, without)

    with pytest.raises(AssertionError):
        check(end, await stories.whole(story), point)
