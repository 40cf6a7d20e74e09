"""JupyterLab and Chromium for the tests marked `browser`; where a part is missing they are skipped, and say which."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Lab, Server
    from playwright.async_api import Page

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "screenshots"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = _missing()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing))


def chromium() -> str | None:
    """The browser to drive: $CHROMIUM, or what Debian installs."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def _missing() -> str:
    for module in ("jupyterlab", "playwright"):
        if importlib.util.find_spec(module) is None:
            return f"no {module} here; pip install 'jupyter-agent-workbench[test]'"
    return "" if chromium() else "no Chromium here; apt-get install chromium, or name one in $CHROMIUM"


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for the session."""
    from lab import serve

    with serve(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page in a browser of its own."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = await browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(30_000)
        yield page
        await browser.close()


@pytest.fixture
async def lab(page: Page, lab_server: Server) -> Lab:
    """JupyterLab in front of a person: `await lab.open(path)`, `run_all`, `theme`, `cell`, `output`, `screenshot`."""
    from lab import Lab

    return Lab(page, lab_server, ARTIFACTS)
