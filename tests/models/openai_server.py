"""A server on the loopback that speaks OpenAI's chat protocol from a script: streams, failures and broken streams."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "OpenAIServer", "called", "closing", "refusing", "text"]

JSON = dict[str, Any]


@dataclass
class Answer:
    """One scripted response: stream chunks, or a failing status. `broken` drops a chunked body in the middle.

    A chunk that is a text is sent as it is, whatever it is.
    """

    chunks: list[JSON | str] = field(default_factory=list)
    status: int = 200
    headers: str = ""
    done: bool = True
    broken: bool = False


def text(piece: str, finish: str | None = None) -> JSON:
    return _chunk({"content": piece}, finish)


def called(*calls: tuple[str | None, str, str], finish: str | None = None) -> JSON:
    """A chunk with tool calls: (id, name, argument text)."""
    parts = [
        {"index": n, "id": id, "type": "function", "function": {"name": name, "arguments": args}}
        for n, (id, name, args) in enumerate(calls)
    ]
    return _chunk({"tool_calls": parts}, finish)


def closing(finish: str, prompt: int = 7, completion: int = 3) -> list[JSON]:
    """The last chunks of an answer: why it ends, and what it used."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return [_chunk({}, finish), {**_chunk({}, None), "choices": [], "usage": usage}]


def refusing(words: str) -> JSON:
    return _chunk({"refusal": words}, None)


def _chunk(delta: JSON, finish: str | None) -> JSON:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
    return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "qwen3", "choices": [choice]}


class OpenAIServer:
    """Plays `answers` in order and keeps the requests it got; lists the model qwen3."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[JSON] = []
        self.lists = True

    async def __aenter__(self) -> OpenAIServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if head.startswith("get "):
            await self._list(writer)
            return
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        self.requests.append(json.loads(await reader.readexactly(length)))
        answer = self.answers.pop(0)
        if answer.status == 200:
            await self._stream(writer, answer)
        else:
            body = json.dumps({"error": {"message": "scripted", "type": "scripted", "code": None}}).encode()
            head = f"HTTP/1.1 {answer.status} Scripted\r\ncontent-type: application/json\r\n{answer.headers}"
            writer.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _list(self, writer: asyncio.StreamWriter) -> None:
        model = {"id": "qwen3", "object": "model", "created": 1, "owned_by": "us"}
        body = json.dumps({"object": "list", "data": [model]} if self.lists else {"error": "no such page"}).encode()
        status = "200 OK" if self.lists else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _stream(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        encoding = "transfer-encoding: chunked\r\n" if answer.broken else ""
        writer.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{encoding}connection: close\r\n\r\n".encode()
        )
        for chunk in answer.chunks:
            data = f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n".encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n" if answer.broken else data)
            await writer.drain()
        if answer.done and not answer.broken:
            writer.write(b"data: [DONE]\n\n")
        await writer.drain()
