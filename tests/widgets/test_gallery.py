"""The gallery in a browser: every scenario, light and dark, is checked by axe, stands still, and fits 320 px."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from views import comparison, inbox, process, run, team

from workbench.table import Table
from workbench.widgets import static_twin

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

WIDGETS = Path(__file__).parents[2] / "widgets"
AXE = WIDGETS / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = Path(__file__).parents[2] / "artifacts" / "gallery"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
SCENARIOS = ["running", "running-fixed", "streaming", "killed", "recovered", "failed", "gone"]
SCENARIOS += ["inbox", "inbox-asking", "inbox-empty", "process", "disposed", "compare", "team", "hostile"]


CRUSHED = """(cells) => [...document.querySelectorAll(cells)]
    .filter((one) => one.offsetHeight > 100 && one.offsetWidth < 60).map((one) => one.textContent)"""
"""The cells that stand as a column of letters."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if shutil.which("node") is None or not AXE.is_file():
        pytest.skip("the gallery needs Node and `npm --prefix widgets ci`")
    subprocess.run(["node", "build.mjs", "--gallery"], cwd=WIDGETS, check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(WIDGETS / "gallery")))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium here; apt-get install chromium, or name one in $CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS, env={**os.environ, "TZ": "UTC"})
        yield running
        running.close()


def opened(browser: Browser, address: str, scenario: str, theme: str = "light", width: int = 892) -> Page:
    """A scenario once it stands as it should."""
    page = browser.new_page(viewport={"width": width, "height": 900}, device_scale_factor=2, reduced_motion="reduce")
    page.goto(f"{address}#{scenario} {theme}")
    page.wait_for_selector(".wb-panel")
    page.wait_for_function("window.settled === true")
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_axe_finds_nothing(browser: Browser, address: str, scenario: str, theme: str) -> None:
    page = opened(browser, address, scenario, theme)
    page.add_script_tag(path=str(AXE))

    found = page.evaluate("axe.run('#page', {resultTypes: ['violations']})")

    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{scenario}-{theme}.png"), full_page=True)
    page.close()
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_scrolls_sideways_at_320_pixels(browser: Browser, address: str, scenario: str) -> None:
    page = opened(browser, address, scenario, width=320)

    wide = page.evaluate(
        """() => [...document.querySelectorAll('#page, #page *')]
            .filter((one) => one.scrollWidth > one.clientWidth + 1)
            .filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowX))
            .map((one) => one.className)"""
    )
    whole = page.evaluate("document.documentElement.scrollWidth")

    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{scenario}-320.png"), full_page=True)
    page.close()
    assert (wide, whole) == ([], 320)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["run", "inbox", "process", "compare", "team"])
def test_a_saved_picture_is_sound_and_fits_320_pixels(browser: Browser, address: str, kind: str, theme: str) -> None:
    made = {"run": run, "inbox": inbox, "process": process, "compare": comparison, "team": team}
    view = made[kind]()
    page = browser.new_page(viewport={"width": 892, "height": 700}, device_scale_factor=2, java_script_enabled=True)
    page.goto(address)
    style = "--jp-layout-color1:#212121;background:#111" if theme == "dark" else ""
    light = "false" if theme == "dark" else "true"
    page.set_content(
        f'<html lang="en"><title>x</title><body data-jp-theme-light="{light}" style="margin:0;{style}">'
        f"<main id='page'>{static_twin.html(view)}</main>"
    )
    page.add_script_tag(path=str(AXE))

    found = page.evaluate("axe.run('#page', {resultTypes: ['violations'], rules: {'heading-order': {enabled: false}}})")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"twin-{kind}-{theme}.png"), full_page=True)
    page.set_viewport_size({"width": 320, "height": 700})
    page.screenshot(path=str(SHOTS / f"twin-{kind}-{theme}-320.png"), full_page=True)
    width = page.evaluate("document.documentElement.scrollWidth")
    crushed = page.evaluate(CRUSHED, "td")

    page.close()
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []
    assert (width, crushed) == (320, [])


def test_a_comparison_crushes_no_figure_at_320_pixels(browser: Browser, address: str) -> None:
    page = opened(browser, address, "compare", width=320)

    crushed = page.evaluate(CRUSHED, ".wb-sides td, .wb-sides tbody th")

    page.close()
    assert crushed == []


def test_a_wide_table_scrolls_inside_itself_at_320_pixels(browser: Browser) -> None:
    columns = [f"column_{number}" for number in range(6)]
    table = Table([dict.fromkeys(columns, "a_value_of_one_word")], columns)
    page = browser.new_page(viewport={"width": 320, "height": 700})
    page.set_content(f"<body style='margin:0'>{table._repr_html_()}")

    page_width, inside = page.evaluate(
        """() => [document.documentElement.scrollWidth, document.querySelector('.wb-table').scrollWidth]"""
    )

    page.close()
    assert page_width == 320
    assert inside > 320


def test_nothing_moves_while_a_text_streams(browser: Browser, address: str) -> None:
    page = opened(browser, address, "streaming")
    page.evaluate(
        """() => {
            window.shift = 0;
            new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift += entry.value)))
                .observe({type: 'layout-shift', buffered: false});
            window.footer = document.querySelector('.wb-footer').getBoundingClientRect().top;
        }"""
    )

    moved = page.evaluate(
        """async () => {
            const words = 'one word after the other, and the box stands still '.repeat(12).split(' ');
            const at = model.state.rows.length - 1;
            let length = [...model.state.rows[at].text].length;
            for (const word of words) {
                model.patch([['splice', `/rows/${at}/text`, length, 0, `${word} `]]);
                length += word.length + 1;
                await new Promise((resolve) => requestAnimationFrame(resolve));
            }
            await new Promise((resolve) => setTimeout(resolve, 100));
            return [window.shift, document.querySelector('.wb-footer').getBoundingClientRect().top - window.footer];
        }"""
    )

    page.close()
    assert moved == [0, 0]


def test_a_new_approval_moves_nothing_but_the_timeline(browser: Browser, address: str) -> None:
    page = opened(browser, address, "running-fixed")
    page.evaluate("() => model.patch([['splice', '/rows', 6, 1, []]])")
    page.wait_for_selector(".wb-card", state="detached")
    before = page.evaluate("document.querySelector('.wb-now').getBoundingClientRect().bottom")

    page.evaluate("() => model.patch([['splice', '/rows', 6, 0, [waiting]]])")
    page.wait_for_selector(".wb-card")

    after = page.evaluate("document.querySelector('.wb-now').getBoundingClientRect().bottom")
    focused = page.evaluate("document.activeElement === document.body")
    page.close()
    assert (after, focused) == (before, True)


def test_every_target_is_24_pixels_high(browser: Browser, address: str) -> None:
    for scenario in ("running", "inbox", "process"):
        page = opened(browser, address, scenario)

        small = page.evaluate(
            """() => [...document.querySelectorAll('#page button')]
                .filter((one) => one.getBoundingClientRect().height < 24 && !one.matches('.wb-tree-row'))
                .map((one) => [one.textContent, one.getBoundingClientRect().height])"""
        )

        page.close()
        assert small == []
