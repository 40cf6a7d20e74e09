"""Where a server of tools is: a URL with a bearer token, or a command that is started and spoken to over its pipes.

A token is in no repr, no error and no log; the login and the query of a URL are in no repr and no error. What a command
writes to its standard error is kept for the error that tells why it ended. Knows nothing of tools.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.given import address, bearer, shown_url
from workbench.models.addresses import public
from workbench.words import is_whole

if TYPE_CHECKING:
    from httpx2 import Response
    from mcp.client import Transport
    from mcp.client._transport import TransportStreams

__all__ = ["Place"]

TAIL = 2000
"""Characters of what a command said that an error shows."""


class Place:
    """A server's place. Raises: BadInput when it is neither a URL nor a command."""

    def __init__(
        self, url: str | None, command: Sequence[str] | None, token: str | None, env: Mapping[str, str] | None
    ) -> None:
        if (url is None) == (command is None):
            found = "neither" if url is None else f"url={shown_url(url)} and command={command!r}"
            raise BadInput(f"mcp_tools takes a url or command=[…], found {found}; give one")
        if token is not None:
            bearer(token, "the server")
        if url is None:
            _check_command(command, token, env)
        else:
            _check_url(url, token, env)
        self.url = url
        self.command = list(command) if command is not None else None
        self.refusal = ""
        self._token = token
        self._env = None if env is None else dict(env)
        self._said: IO[str] | None = None

    def transport(self) -> Transport:
        """A new way to the server, to be entered once."""
        self.refusal = ""
        if self.url is None:
            return self._pipes()
        return self._http(self.url)

    def _pipes(self) -> Transport:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        assert self.command is not None
        self.close()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # closed by `close`
        parameters = StdioServerParameters(command=self.command[0], args=self.command[1:], env=self._env)
        return stdio_client(parameters, errlog=self._said)

    @asynccontextmanager
    async def _http(self, url: str) -> AsyncIterator[TransportStreams]:
        from httpx2 import AsyncClient, Timeout
        from mcp.client.streamable_http import streamable_http_client

        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        hooks: dict[str, list[Any]] = {"response": [self._heard]}
        async with (
            AsyncClient(headers=headers, timeout=Timeout(30, read=300), event_hooks=hooks) as http,
            streamable_http_client(url, http_client=http) as streams,
        ):
            yield streams

    async def _heard(self, response: Response) -> None:
        """What the library's own errors do not say: that the server refuses the token."""
        if response.status_code in (401, 403):
            self.refusal = f"{response.status_code} {response.reason_phrase}".strip()

    @property
    def said(self) -> str:
        """The end of what a command wrote to its standard error."""
        if self._said is None:
            return ""
        self._said.flush()
        self._said.seek(0)
        return self._said.read()[-TAIL:].strip()

    def close(self) -> None:
        """Forget what a command said."""
        if self._said is not None:
            self._said.close()
            self._said = None

    @property
    def words(self) -> str:
        """How people call it, without what may be a secret in a url."""
        return public(self.url) if self.url is not None else " ".join(self.command or ())

    @property
    def identity(self) -> tuple[Any, ...]:
        """What two places that are the same have in common."""
        return self.url, tuple(self.command or ()), self._token, tuple(sorted((self._env or {}).items()))

    def __repr__(self) -> str:
        return f"<Place {self.words}>"


def _check_url(url: str, token: str | None, env: object) -> None:
    parts = address("the url of a server of tools", url)
    if token is not None and "@" in parts.netloc:
        raise BadInput(f"a server is given a login in its url or a token, found both for {parts.hostname!r}; give one")
    if env is not None:
        raise BadInput("a url takes no env; that is for a server that is begun by command=[…]")


def _check_command(command: object, token: str | None, env: object) -> None:
    if not isinstance(command, list | tuple) or not command or not all(map(_is_word, command)):
        raise BadInput(f'command is a list of words such as ["uvx", "server"], found {command!r}')
    if token is not None:
        raise BadInput("a command takes no token; give it what it needs by env={…}")
    if env is None:
        return
    if not isinstance(env, Mapping):
        raise BadInput(f'env is variables by name, such as {{"KEY": "…"}}, found {type(env).__name__}')
    for name, value in env.items():
        if not _is_word(name) or "=" in name:
            raise BadInput(f"a variable of env is named by a text without = in it, found {name!r}")
        if value != "" and not _is_word(value):
            raise BadInput(f"variable {name!r} of env is a text of whole characters, found {type(value).__name__}")


def _is_word(word: object) -> bool:
    """Whether it is text that a program can be given."""
    return type(word) is str and word != "" and "\0" not in word and is_whole(word)
