"""What providers send: each reply goes through a real bench, and what comes of it is what the page says."""

from __future__ import annotations

import pytest
from houses import House
from replies import PAGE, REPLIES, Reply, page, row

pytest.importorskip("openai")


def rows() -> list[str]:
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("number", range(len(REPLIES)), ids=[reply.what[:40] for reply in REPLIES])
async def test_each_reply_is_handled_as_the_page_says(room: House, number: int) -> None:
    reply: Reply = REPLIES[number]

    assert await row(room, reply) == rows()[number], "if that is meant, python tests/agents/replies.py writes the page"


def test_the_page_has_every_reply_and_nothing_else() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(rows())
    assert len(rows()) == len(REPLIES) >= 25
