"""Putting: what was awaited is there, a key says that two puts are one, and nothing odd gets in."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from workbench import Workbench
from workbench.errors import BadInput, JobConflict, NotPlain, StoreError
from workbench.messaging.queue import Ticket


async def test_a_put_gives_its_number_and_says_that_it_is_new(bench: Workbench) -> None:
    queue = bench.queue("mail")

    first, second = await queue.put({"to": "a"}), await queue.put({"to": "b"})

    assert (first.fresh, second.fresh) == (True, True)
    assert first.id < second.id
    assert [(row["id"], row["body"]) for row in queue.jobs()] == [(first.id, {"to": "a"}), (second.id, {"to": "b"})]


async def test_a_put_that_nobody_awaits_is_in_the_store_all_the_same(bench: Workbench) -> None:
    queue = bench.queue("mail")
    queue.put("a")
    queue.put("b")
    await queue.put("c")

    assert [row["body"] for row in queue.jobs()] == ["a", "b", "c"]


async def test_a_name_gives_the_same_queue(bench: Workbench) -> None:
    assert bench.queue("mail") is bench.queue("mail")
    assert bench.queue("mail") is not bench.queue("Mail")


async def test_a_key_at_work_gives_the_first_job_and_says_so(bench: Workbench) -> None:
    queue = bench.queue("mail")
    first = await queue.put({"a": 1, "b": 2}, key="A-1001")

    again = await queue.put({"b": 2, "a": 1}, key="A-1001")

    assert again == Ticket(first.id, False, "A-1001")
    assert queue.stats.waiting == 1


async def test_two_puts_of_a_key_at_once_are_one_job(bench: Workbench) -> None:
    queue = bench.queue("mail")

    tickets = await asyncio.gather(*(queue.put("a", key="k") for _ in range(10)))

    assert [ticket.fresh for ticket in tickets] == [True] + [False] * 9
    assert len({ticket.id for ticket in tickets}) == 1


async def test_another_body_under_a_key_at_work_is_named(bench: Workbench) -> None:
    queue = bench.queue("mail")
    first = await queue.put({"amount": 1}, key="A-1001")

    with pytest.raises(JobConflict) as refused:
        await queue.put({"amount": 2}, key="A-1001")

    assert str(refused.value) == (
        f"the key 'A-1001' of 'mail' is at work as job {first.id} with {{'amount': 1}}, and is put with "
        "{'amount': 2}; use another key, or put it again when that job is over"
    )
    assert (refused.value.queue, refused.value.key, refused.value.job) == ("mail", "A-1001", first.id)
    assert [row["body"] for row in queue.jobs()] == [{"amount": 1}]


async def test_a_body_comes_back_as_what_it_was(bench: Workbench) -> None:
    queue = bench.queue("mail")
    body: dict[str, Any] = {"tuple": (1, 2), "bytes": b"x", "big": "y" * 100_000}

    await queue.put(body)

    assert (await queue.take()).body == body


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"body": object()}, "body is a object, and only plain data can be stored"),
        ({"delay": -1}, "delay is a number of seconds, at least 0, found -1"),
        ({"delay": float("nan")}, "delay is a number of seconds, at least 0, found nan"),
        ({"delay": "1"}, "delay is a number of seconds, at least 0, found '1'"),
        ({"priority": 1.0}, "priority is a whole number of less than 32 bits, found 1.0"),
        ({"priority": 1 << 40}, "priority is a whole number of less than 32 bits, found 1099511627776"),
        ({"key": ""}, "a key is a text of at least one character, found ''"),
        ({"key": "\ud800"}, "a key '\\ud800' has half of a character in it"),
    ],
)
async def test_what_cannot_be_put_is_refused_at_once(bench: Workbench, options: dict[str, Any], words: str) -> None:
    queue = bench.queue("mail")

    with pytest.raises(BadInput) as refused:
        queue.put(**{"body": "a"} | options)

    assert str(refused.value).startswith(words)
    assert queue.jobs() == []


@pytest.mark.parametrize("name", ["", None, 7, "\ud800"])
async def test_what_is_no_name_is_no_queue(bench: Workbench, name: Any) -> None:
    with pytest.raises(BadInput, match="a queue"):
        bench.queue(name)


async def test_a_body_that_is_too_deep_is_named_by_its_place(bench: Workbench) -> None:
    with pytest.raises(NotPlain, match=r"body\.when"):
        bench.queue("mail").put({"when": object()})


async def test_a_queue_is_used_on_the_loop_of_its_bench(bench: Workbench) -> None:
    queue = bench.queue("mail")
    refused: list[BaseException] = []

    def elsewhere() -> None:
        try:
            queue.put("a")
        except BadInput as error:
            refused.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(thread.join)

    assert str(refused[0]) == "queues and topics are used on the loop of their bench; from a thread, hop there"


async def test_what_was_put_before_the_close_is_in_the_store(make_store: Any) -> None:
    bench = await Workbench.open(store=make_store())
    queue = bench.queue("mail")
    put = queue.put("a")

    await bench.close()

    assert (await put).fresh
    with pytest.raises(StoreError, match="closed"):
        queue.put("b")
    async with Workbench.open(store=make_store()) as again:
        assert [row["body"] for row in again.queue("mail").jobs()] == ["a"]


async def test_a_queue_shows_itself_as_a_table(bench: Workbench) -> None:
    queue = bench.queue("mail")
    await queue.put("a")
    await queue.put("b", delay=60)
    await (await queue.take()).bury("<boom>")

    assert repr(queue).split() == [
        *("queue", "waiting", "delayed", "leased", "done", "dead", "paused", "workers"),
        *("mail", "0", "1", "0", "0", "1", "False", "0"),
    ]
    shown = queue._repr_html_()
    assert "<table><thead><tr><th>queue</th>" in shown
    assert "&lt;boom&gt;" in shown
