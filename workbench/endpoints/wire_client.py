"""Connecting to the wire of another notebook: `remote = await connect(url, token)`.

The embassy of websockets, which is loaded at the first use. A token goes into one header, and nowhere else. Source:
PROCESSES 5.2, DESIGN 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlunsplit

from workbench.endpoints.wire_frames import FROM_HOST
from workbench.endpoints.wire_link import Link
from workbench.errors import BadInput, LinkError
from workbench.given import address, bearer, seconds

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

__all__ = ["connect"]

SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


async def connect(url: str, token: str, *, timeout: float = 10.0) -> Link:
    """A link to the processes of the notebook behind a door, which comes back by itself when it is lost.

    `url` is the door's, `token` that of a caller of its wire; `timeout` is how long one dial may take, in seconds.
    `remote.lookup("order", id="A-1001")` is a handle like any other; `await remote.close()` ends the link.

    Raises: BadInput for a url or token that cannot be; LinkError when the door cannot be reached, or refuses.
    """
    where, patience = _where(url), seconds("timeout", timeout)
    bearer(token, "the door's owner")

    async def dial() -> _Socket:
        return await _dial(where, token, patience)

    link = Link(url, dial)
    await link.open()
    return link


def _where(url: object) -> str:
    parts = address("the url of a door", url, SCHEMES)
    if "@" in parts.netloc:
        raise BadInput(f"a door asks for no login but the token; give the url of {parts.hostname!r} without one")
    path = parts.path.rstrip("/")
    return urlunsplit((SCHEMES[parts.scheme], parts.netloc, path if path.endswith("/wire") else f"{path}/wire", "", ""))


async def _dial(where: str, token: str, patience: float) -> _Socket:
    from websockets.asyncio.client import connect as dial
    from websockets.exceptions import InvalidStatus, WebSocketException

    try:
        connection = await dial(
            where,
            additional_headers={"Authorization": f"Bearer {token}"},
            open_timeout=patience,
            max_size=FROM_HOST,
            proxy=None,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        why = "it does not accept the token" if status in (401, 403) else "it serves no wire there"
        raise LinkError(f"{where} answers {status}: {why}", place=where) from error
    except (OSError, TimeoutError, WebSocketException, ValueError) as error:  # a redirect may lead to no address
        raise LinkError(f"{where} cannot be reached: {str(error) or type(error).__name__}", place=where) from error
    return _Socket(connection, where)


class _Socket:
    """Implements `workbench.endpoints.wire_link.Channel`."""

    def __init__(self, connection: ClientConnection, address: str) -> None:
        self._connection = connection
        self._address = address

    async def send(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(text)
        except ConnectionClosed as error:
            raise self._lost(error) from error

    async def receive(self) -> str:
        from websockets.exceptions import ConnectionClosed

        try:
            received: Any = await self._connection.recv()
        except ConnectionClosed as error:
            raise self._lost(error) from error
        return received if isinstance(received, str) else ""

    async def close(self) -> None:
        await self._connection.close()

    def _lost(self, error: Exception) -> LinkError:
        return LinkError(f"the link to {self._address} was lost: {error}", place=self._address)
