"""The tools of other servers, used by agents here: over MCP, by URL or by a command.

- What a server says is a stranger's word. Its descriptions and schemas are cut to a size, nothing that they refer to is
  fetched, and its hints count only when the owner says so; one that says that a tool destroys always counts.
- The owner's `approval` decides what asks. A tool that its server has changed or taken back since it was listed asks
  in any case, until the owner has listed it again.
- The same place in one loop is one connection: running the cell again lists anew.

Source: ENDPOINTS 1.10 and 5 (15). Knows nothing of sessions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from workbench.agents.foreign import mcp_result
from workbench.agents.tools import Tool
from workbench.endpoints.mcp_connection import Connection
from workbench.endpoints.mcp_place import Place
from workbench.errors import BadInput, LinkError, NotAnswered
from workbench.given import seconds
from workbench.loop import Home

if TYPE_CHECKING:
    from mcp_types import Tool as ServerTool

    from workbench.agents.context import ToolContext

__all__ = ["McpTools", "mcp_tools"]

LONGEST_NAME = 64
LONGEST_WORDS = 4_000
"""Characters of a description that are shown to a model."""
LARGEST_SCHEMA = 64 * 1024
"""Characters of a schema, as JSON, above which a tool is left out."""

Approval = bool | Callable[[dict[str, Any]], bool]

_open: dict[tuple[Home, Any], McpTools] = {}


async def mcp_tools(
    url: str | None = None,
    *,
    command: Sequence[str] | None = None,
    token: str | None = None,
    env: Mapping[str, str] | None = None,
    approval: Approval | Mapping[str, Approval] = False,
    prefix: str = "",
    trust_hints: bool = False,
    timeout: float = 60.0,
) -> McpTools:
    """The tools of a server, for `Agent(tools=…)`: at a `url`, with its bearer `token`, or begun by a `command`.

    `approval` is as for a tool of your own, for all of them, or by name (`*` and `?` match); whatever the server hints.
    `prefix` goes before their names, which keep what a model's may have. `trust_hints` believes the server about what
    only reads and may be repeated. `timeout` is for connecting and for each answer, in seconds.

    Raises: BadInput for a place or names that cannot be; LinkError when the server cannot be reached, or refuses.
    """
    place = Place(url, command, token, env)
    rules = _Rules(approval, prefix, trust_hints)
    timeout = seconds("timeout", timeout)
    home = Home.of_running()
    known = _open.get((home, place.identity))
    tools = McpTools(Connection(place, timeout)) if known is None else known  # one that has none yet is empty
    _open[home, place.identity] = tools
    tools.connection.timeout = timeout
    tools._asking += 1
    try:
        await tools._take(rules)
    except BaseException:
        if not tools._listed and tools._asking == 1:  # nobody else has it, or waits for it
            await tools.close()
        raise
    finally:
        tools._asking -= 1
    return tools


class _Rules:
    """What the owner says of the tools of a server."""

    def __init__(self, approval: Approval | Mapping[str, Approval], prefix: str, trust_hints: bool) -> None:
        rules = approval.values() if isinstance(approval, Mapping) else [approval]
        if not all(isinstance(rule, bool) or callable(rule) for rule in rules):
            raise BadInput(
                f"approval is True, False, a function of the arguments, or these by name, found {approval!r}"
            )
        if isinstance(approval, Mapping) and not all(isinstance(glob, str) for glob in approval):
            raise BadInput(f"approval has the names of tools, in which * and ? match, found {list(approval)!r}")
        if type(trust_hints) is not bool:
            raise BadInput(f"trust_hints is True or False, found {trust_hints!r}")
        if type(prefix) is not str or not re.fullmatch(r"[A-Za-z0-9_-]*", prefix):
            raise BadInput(f"a prefix of names is letters, digits, _ and -, found {prefix!r}")
        self.approval = approval
        self.prefix = prefix
        self.trust_hints = trust_hints

    def of(self, name: str) -> Approval:
        """What decides whether a tool of the server asks."""
        if not isinstance(self.approval, Mapping):
            return self.approval
        return next((rule for glob, rule in self.approval.items() if fnmatchcase(name, glob)), False)

    def named(self, name: str) -> str:
        """The name of a tool here."""
        return (self.prefix + re.sub(r"[^A-Za-z0-9_-]", "_", name))[:LONGEST_NAME]


class McpTools(list[Tool]):
    """The tools of one server, as a list, and the connection to it.

    `changes` says what the server changed since the owner listed them, a line for each; `left_out` what cannot be a
    tool here, and why.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection
        self.changes: list[str] = []
        self.left_out: dict[str, str] = {}
        self._rules = _Rules(False, "", False)
        self._seen: dict[str, str] = {}
        self._untrue: set[str] = set()
        self._asking = 0
        self._listed = False
        self._home = Home.of_running()
        connection.on_change = self._changed

    async def refresh(self) -> list[str]:
        """List the tools again, and take them as they are now; gives what was changed. Raises: LinkError, BadInput."""
        return await self._take(self._rules)

    async def close(self) -> None:
        """End the connection; a command that was begun ends. The tools stay, and fail when they are called."""
        _open.pop((self._home, self.connection.place.identity), None)
        await self.connection.close()

    async def _take(self, rules: _Rules) -> list[str]:
        listed = await self.connection.listed()
        left_out: dict[str, str] = {}
        tools: dict[str, Tool] = {}
        for each in listed:
            try:
                made = self._tool(each, rules)
            except BadInput as error:
                left_out[each.name] = str(error)
                continue
            if made.name in tools:
                raise BadInput(
                    f"two tools of {self.connection.place.words} would be called {made.name!r} here, one of them "
                    f"{each.name!r}; the server has to name them apart",
                    tool=made.name,
                )
            tools[made.name] = made
        told = self._compared(listed) if self._seen else []
        self[:] = tools.values()
        self._rules, self.left_out, self._seen = rules, left_out, _fingerprints(listed)
        self.changes, self._untrue, self._listed = [], set(), True
        return told

    def _tool(self, listed: ServerTool, rules: _Rules) -> Tool:
        own, hints = listed.name, listed.annotations
        if len(json.dumps(listed.input_schema)) > LARGEST_SCHEMA:
            raise BadInput(f"its schema is longer than {LARGEST_SCHEMA} characters", tool=own)
        rule = rules.of(own)

        def asks(args: dict[str, Any]) -> bool:
            return own in self._untrue or (rule if isinstance(rule, bool) else rule(args))

        async def call(values: dict[str, Any], ctx: ToolContext) -> Any:
            return await self._call(own, values, ctx)

        trusted = hints if rules.trust_hints else None
        return Tool.from_schema(
            call,
            rules.named(own),
            _words(listed.description or listed.title or ""),
            dict(listed.input_schema),
            approval=True if rule is True else asks,
            read_only=trusted is not None and trusted.read_only_hint is True,
            idempotent=trusted is not None and trusted.idempotent_hint is True,
            destructive=True if hints is not None and hints.destructive_hint else None,
        )

    async def _call(self, name: str, args: dict[str, Any], ctx: ToolContext) -> Any:
        async def question(message: str, schema: dict[str, Any]) -> Any:
            try:
                return await ctx.ask_user(schema, f"{self.connection.place.words} asks: {_words(message)}")
            except NotAnswered:
                return None

        result = await self.connection.call(name, args, say=ctx.progress, question=question, call_id=ctx.call_id)
        return mcp_result(name, result)

    def _changed(self) -> None:
        """The server says that its tools are others now: see which, and have those ask."""
        self._home.start(self._look(), name=f"look at the tools of {self.connection.place.words}")

    async def _look(self) -> None:
        try:
            listed = await self.connection.listed()
        except LinkError as error:
            self.changes.append(f"it said that its tools changed, and they could not be listed: {error}")
            self._untrue |= self._seen.keys()
            return
        self.changes = self._compared(listed)

    def _compared(self, listed: list[ServerTool]) -> list[str]:
        """What is not as it was when the owner listed it, a line for each tool."""
        now = _fingerprints(listed)
        changed = {name for name in self._seen if name in now and now[name] != self._seen[name]}
        gone = self._seen.keys() - now.keys()
        self._untrue = changed | gone
        return [
            *(f"{name} is new" for name in now if name not in self._seen),
            *(f"{name} is described or takes arguments otherwise" for name in self._seen if name in changed),
            *(f"{name} is gone" for name in self._seen if name in gone),
        ]

    def __repr__(self) -> str:
        place, link = self.connection.place.words, "connected" if self.connection.connected else "not connected"
        lines = [f"<{len(self)} tools of {place}, {link}: {', '.join(tool.name for tool in self) or 'none'}>"]
        lines += [f"  changed: {change}; await tools.refresh() takes it" for change in self.changes]
        lines += [f"  left out: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(lines)


def _fingerprints(listed: list[ServerTool]) -> dict[str, str]:
    """Everything that a server says of each tool, to be compared."""
    return {tool.name: tool.model_dump_json(exclude_none=True, exclude={"meta", "icons"}) for tool in listed}


def _words(text: str) -> str:
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"
