"""What MCP clients are told: configurations to copy, one for each client, none with a token.

`${WORKBENCH_TOKEN}` stands where the token goes: clients that read the environment fill it in, for others a person.
Source: ENDPOINTS 6.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["configurations"]

TOKEN = "${WORKBENCH_TOKEN}"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def configurations(url: str) -> Mapping[str, str]:
    """The configuration of each client for a server at `url`, by the client's name or the file's."""
    remote = ["mcp-remote", url, "--header", "Authorization:${AUTH}"]
    return {
        "claude": f'claude mcp add --transport http workbench {url} --header "Authorization: Bearer {TOKEN}"',
        ".mcp.json": _servers({"type": "http", "url": url, "headers": BEARER}),
        "claude_desktop_config.json": _servers(
            {"command": "npx", "args": remote, "env": {"AUTH": BEARER["Authorization"]}}
        ),
        ".vscode/mcp.json": _json(
            {
                "inputs": [{"id": "token", "type": "promptString", "password": True}],
                "servers": {
                    "workbench": {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:token}"}}
                },
            }
        ),
        "~/.cursor/mcp.json": _servers({"url": url, "headers": BEARER}),
        "~/.codex/config.toml": f'[mcp_servers.workbench]\nurl = "{url}"\nbearer_token_env_var = "WORKBENCH_TOKEN"',
        "~/.gemini/settings.json": _servers({"httpUrl": url, "headers": BEARER}),
        "python": (
            "import os, httpx2\n"
            "from mcp.client import Client\n"
            "from mcp.client.streamable_http import streamable_http_client\n\n"
            'headers = {"Authorization": f"Bearer {os.environ[\'WORKBENCH_TOKEN\']}"}\n'
            "async with httpx2.AsyncClient(headers=headers) as http:\n"
            f'    async with Client(streamable_http_client("{url}", http_client=http)) as client:\n'
            "        print(await client.list_tools())"
        ),
    }


def _servers(server: dict[str, Any]) -> str:
    return _json({"mcpServers": {"workbench": server}})


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)
