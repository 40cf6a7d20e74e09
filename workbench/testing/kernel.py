"""A real kernel in its own process, with what a front end needs of it: cells run on one client, clicks go on another.

- One pump reads all that the kernel publishes for its whole life; what comes after a cell, or between two, is kept.
- Clicks have a client with a session of its own: two clients with one session get each other's replies.
- `lab` opens a subshell and sends clicks on it, as JupyterLab does; `plain` uses the main shell.
- A death is noticed within `PULSE` seconds, after everything that was published before it has been taken in.

Knows nothing of notebooks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty
from typing import Any, Literal

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

__all__ = ["PULSE", "FrontEnd", "Kernel"]

FrontEnd = Literal["lab", "plain"]
Received = Callable[[dict[str, Any]], None]

PULSE = 0.1
STARTUP = 60.0


class Kernel:
    """A kernel process and the two clients of it. Made by `await Kernel.start(...)`; ended by `kill` or `shutdown`."""

    def __init__(self, manager: AsyncKernelManager, folder: Path, received: Received, died: Callable[[], None]) -> None:
        self._manager = manager
        self._folder = folder
        self._received = received
        self._died = died
        self._runner = manager.client(context=manager.context)
        self._clicker = AsyncKernelClient(connection_file=manager.connection_file, context=manager.context)
        self._subshell: str | None = None
        self._watching: asyncio.Task[None] | None = None
        self._exited = False
        self.alive = True

    @classmethod
    async def start(
        cls,
        received: Received,
        died: Callable[[], None],
        *,
        cwd: Path,
        env: Mapping[str, str],
        frontend: FrontEnd,
        python: Path | None,
    ) -> Kernel:
        """Start a kernel in `cwd` with `env` on top of this process's environment.

        `received` gets all that it publishes, `died` its end; `python` is the interpreter, this one when None.
        Raises: RuntimeError with the kernel's last words when it does not come up.
        """
        folder = Path(tempfile.mkdtemp(prefix="wb-"))
        manager = AsyncKernelManager(
            kernel_spec_manager=_Here(python=str(python or sys.executable)),
            transport="tcp" if sys.platform == "win32" else "ipc",
            connection_file=str(folder / "k.json"),
        )
        with (folder / "log").open("wb") as log:
            await manager.start_kernel(cwd=str(cwd), env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=log)
        kernel = cls(manager, folder, received, died)
        try:
            await kernel._connect(frontend)
        except BaseException:
            await kernel.kill()
            await kernel.close()
            raise
        return kernel

    @property
    def pid(self) -> int:
        """The kernel's process id."""
        return int(self._manager.provisioner.pid)  # type: ignore[union-attr]

    def last_words(self) -> str:
        """The end of what the process itself wrote to stderr, outside any cell."""
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / "log").read_text(errors="replace")[-2000:].strip()
        return ""

    def execute(self, source: str, *, stop_on_error: bool) -> str:
        """Send a cell; gives the id that everything it publishes has as its parent."""
        return str(self._runner.execute(source, allow_stdin=False, stop_on_error=stop_on_error))

    async def reply(self, id: str) -> dict[str, Any] | None:
        """The reply to the cell sent as `id`, or None once the kernel is dead. Waits without a bound."""
        while True:
            try:
                message = await self._runner.get_shell_msg(timeout=PULSE)
            except Empty:
                if not self.alive:
                    return None
            else:
                if message["parent_header"].get("msg_id") == id:
                    return dict(message["content"])

    def say(self, model: str, content: dict[str, Any]) -> None:
        """Send a custom message to a widget model, as the front end would."""
        session = self._clicker.session
        message = session.msg("comm_msg", {"comm_id": model, "data": {"method": "custom", "content": content}})
        if self._subshell is not None:
            message["header"]["subshell_id"] = self._subshell
        self._clicker.shell_channel.send(message)

    async def interrupt(self) -> None:
        """Send SIGINT, as the stop button does."""
        await self._manager.interrupt_kernel()

    async def kill(self) -> None:
        """End the process with SIGKILL, by its pid, and return when it is gone and all it had published is taken in."""
        self._kill_now()
        await self._end()

    async def shutdown(self) -> None:
        """End the process as a front end does: SIGINT and a request first, SIGTERM after 2.5 s, SIGKILL after 5."""
        if self.alive:
            self._close_subshell()
            await self._manager.interrupt_kernel()
            await self._manager.request_shutdown()
            await self._manager.finish_shutdown()
        await self._end()

    async def close(self) -> None:
        """Give back the sockets and files of a kernel that has ended."""
        for client in (self._runner, self._clicker):
            client.stop_channels()
        await self._manager.cleanup_resources()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _connect(self, frontend: FrontEnd) -> None:
        self._runner.start_channels(stdin=False, hb=False)
        try:
            await self._runner.wait_for_ready(timeout=STARTUP)
        except RuntimeError as error:
            error.add_note(self.last_words())
            raise
        self._clicker.load_connection_file()
        self._clicker.start_channels(iopub=False, stdin=False, hb=False)
        if frontend == "lab":
            await self._open_subshell()
        loop = asyncio.get_running_loop()
        self._watching = loop.create_task(
            self._watch(loop.create_task(self._pump(), name="kernel pump")), name="kernel pulse"
        )

    async def _open_subshell(self) -> None:
        """Open a subshell where the kernel has them; an older kernel gets its clicks on the main shell."""
        self._clicker.control_channel.send(self._clicker.session.msg("create_subshell_request", {}))
        with contextlib.suppress(Empty):
            reply = await self._clicker.get_control_msg(timeout=2)
            self._subshell = reply["content"].get("subshell_id")

    def _close_subshell(self) -> None:
        """Close the subshell; its thread would hold up the end of the process until SIGTERM."""
        if self._subshell is not None:
            content = {"subshell_id": self._subshell}
            self._clicker.control_channel.send(self._clicker.session.msg("delete_subshell_request", content))

    async def _pump(self) -> None:
        while True:
            try:
                message = await self._runner.get_iopub_msg(timeout=PULSE)
            except Empty:
                if self._exited:
                    return
            else:
                self._received(message)

    async def _watch(self, pump: asyncio.Task[None]) -> None:
        try:
            while await self._manager.is_alive() and not pump.done():
                await asyncio.sleep(PULSE)
            self._exited = True
            await pump
        finally:
            self._kill_now()
            self.alive = False
            self._died()

    def _kill_now(self) -> None:
        if self._manager.has_kernel:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)

    async def _end(self) -> None:
        try:
            if self._watching is not None:
                await self._watching
        finally:
            self.alive = False
            if self._manager.provisioner is not None:
                await self._manager.provisioner.wait()


class _Here(KernelSpecManager):
    """Kernels of one interpreter, whatever is installed for the user."""

    def __init__(self, python: str) -> None:
        super().__init__()
        self._python = python

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        launch = [self._python, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(
            argv=[*launch, "--HistoryManager.hist_file=:memory:"], language="python", display_name=kernel_name
        )
