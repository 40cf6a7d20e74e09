"""A JupyterLab of our own and the page in front of it: started on a free loopback port, ended by its pid.

- Nothing of the person's own settings is read or written; windowing is off, so that every cell is in the page.
- The page speaks to the application by its commands, and to what is drawn by selectors.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from playwright.async_api import Locator, Page, expect

STARTUP = 60.0
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {
        "windowingMode": "none",
        "autoStartDefaultKernel": True,
        "kernelShutdown": True,
    },
    "@jupyterlab/apputils-extension/notification": {"checkForUpdates": False, "fetchNews": "false"},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True, slots=True)
class Server:
    """A running JupyterLab: where it answers, the folder it serves, its process id."""

    url: str
    root: Path
    pid: int


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """Run JupyterLab on `folder`/root with everything it writes inside `folder`."""
    root = folder / "root"
    root.mkdir(parents=True)
    _write_settings(folder / "settings")
    port = _free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            _command(port, root), cwd=root, env=_environment(folder), stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        _wait(f"http://127.0.0.1:{port}/api", process, folder / "log")
        yield Server(f"http://127.0.0.1:{port}", root, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


class Lab:
    """A notebook open in JupyterLab, and what a person does there."""

    def __init__(self, page: Page, server: Server, artifacts: Path) -> None:
        self.page = page
        self.server = server
        self.artifacts = artifacts

    async def open(self, notebook: Path | str) -> None:
        """Copy a notebook into the served folder, open it in the light theme, and return when its kernel is idle."""
        name = Path(notebook).name
        if not (self.server.root / name).exists():
            shutil.copy(notebook, self.server.root / name)
        await self.page.goto(f"{self.server.url}/lab/tree/{quote(name)}?reset")
        await self.page.wait_for_function(
            "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        )
        await expect(self.page.locator(".jp-Notebook")).to_be_visible()
        await self._no_splash()
        if await self.page.evaluate("document.body.dataset.jpThemeLight") != "true":
            await self.theme("light")

    async def run_all(self, *, wait: bool = True) -> None:
        """Run all cells; without `wait`, return while they run."""
        command = "window.jupyterapp.commands.execute('notebook:run-all-cells')"
        await self.page.evaluate(f"async () => {{ {'await ' if wait else ''}{command}; }}")

    async def restart(self) -> None:
        """Restart the kernel without asking and return when it is idle."""
        context = "window.jupyterapp.shell.currentWidget.sessionContext"
        await self.page.evaluate(f"async () => {{ await {context}.restartKernel(); await {context}.ready; }}")

    async def save(self) -> None:
        """Save the notebook to the served folder."""
        await self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")

    async def theme(self, theme: Literal["light", "dark"]) -> None:
        """Switch the theme and return when the page wears it."""
        name = f"JupyterLab {theme.capitalize()}"
        await self.page.evaluate(
            "async (theme) => { await window.jupyterapp.commands.execute('apputils:change-theme', {theme}); }", name
        )
        await self.page.wait_for_function(
            "(light) => document.body.dataset.jpThemeLight === light", arg="true" if theme == "light" else "false"
        )
        await self._no_splash()

    async def _no_splash(self) -> None:
        """Wait until the moons that cover the page at a start and at a change of theme are gone."""
        await expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)

    def cell(self, index: int) -> Locator:
        """A cell by its place in the notebook, counted from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """All that a cell put out."""
        return self.cell(index).locator(".jp-OutputArea").first

    async def screenshot(self, name: str, *, of: Locator | None = None) -> Path:
        """Keep a picture of the page, or of a part of it."""
        path = self.artifacts / (re.sub(r"[^\w.-]+", "-", name) + ".png")
        path.parent.mkdir(parents=True, exist_ok=True)
        await (of or self.page).screenshot(path=path)
        return path


def _command(port: int, root: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="),
        *("--LabApp.expose_app_in_browser=True", f"--ServerApp.root_dir={root}"),
    ]


def _environment(folder: Path) -> dict[str, str]:
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return os.environ | {name: str(folder / place) for name, place in places.items()}


def _write_settings(folder: Path) -> None:
    for name, values in SETTINGS.items():
        path = folder / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTUP
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and process.poll() is None:
        try:
            with opener.open(url, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    words = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"JupyterLab did not answer at {url} within {STARTUP:g} s; its last words:\n{words}")
