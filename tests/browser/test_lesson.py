"""Lesson 01 in JupyterLab: a person runs all, approves with a click, kills and recovers with buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workbench.testing.cells import find, read
from workbench.testing.lessons import lesson

if TYPE_CHECKING:
    from lab import Lab

expect = pytest.importorskip("playwright.async_api", reason="no playwright here").expect

LESSON = lesson("01_first_run.ipynb")
NAME, NOTEBOOK = read(LESSON)


def at(tag: str) -> int:
    """The place of the tagged cell."""
    return find(NOTEBOOK, NAME, tag)


async def test_a_person_approves_kills_and_recovers_by_buttons(lab: Lab) -> None:
    page = lab.page
    await lab.open(LESSON)
    await lab.run_all(wait=False)

    first = lab.output(at("run")).locator(".wb-live")
    card = first.locator(".wb-card")
    await expect(card).to_be_visible(timeout=30_000)
    await expect(first.get_by_role("status").first).to_contain_text("1 approval waits for you")
    await page.wait_for_timeout(600)  # Approve is inert for half a second after its card appears
    await lab.cell(at("run")).scroll_into_view_if_needed()
    for theme in ("light", "dark"):
        await lab.theme(theme)
        await lab.screenshot(f"lesson-waiting-{theme}", of=first)
    await first.get_by_role("button", name="Approve").click()
    await expect(lab.output(at("ask"))).to_contain_text("A-1002 cancelled")
    await expect(lab.output(at("proof"))).to_contain_text("2 model turns over two lives")
    await expect(first.get_by_text("Completed").first).to_be_visible()
    await lab.screenshot("lesson-completed-dark", of=first)

    second = lab.output(at("second")).locator(".wb-live")
    await second.get_by_role("button", name="Kill").click()
    await expect(second.get_by_text("Killed by you at").first).to_be_visible()
    for theme in ("dark", "light"):
        await lab.theme(theme)
        await lab.screenshot(f"lesson-killed-{theme}", of=second)
    await second.get_by_role("button", name="Recover").click()
    await expect(second.locator(".wb-card")).to_be_visible()
    await page.wait_for_timeout(600)
    await second.get_by_role("button", name="Approve").click()
    await expect(second.get_by_text("Completed").first).to_be_visible()
    await lab.screenshot("lesson-recovered-light", of=second)
    await lab.screenshot("lesson-page-light")
