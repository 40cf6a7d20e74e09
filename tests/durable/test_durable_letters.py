"""Dead letters: listed across keys, requeued with what they had finished, edited, discarded, each decided once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until

from workbench import Call, durable
from workbench.errors import AlreadyDecided, DeadLettered, NoCode, NotPlain


class Bank:
    """Charges every time it is asked; the mail is broken until it is mended."""

    def __init__(self) -> None:
        self.charged: list[str] = []
        self.mailed: list[str] = []
        self.broken = True

    def charge(self, key: str) -> str:
        self.charged.append(key)
        return "receipt"

    def mail(self, key: str) -> str:
        self.mailed.append(key)
        if self.broken:
            raise OSError("no mail today")
        return "sent"


def shop(bank: Bank, **options: Any) -> Any:
    @durable(key="shop:{id}", name="shop", **options)
    async def body(ctx, id: str):
        state = ctx.restored or []
        yield state
        async for message in ctx:
            plain = message.message if type(message) is Call else message
            if plain == "never":
                raise ValueError("not this one")
            receipt = await ctx.step("charge", bank.charge)
            await ctx.step("mail", bank.mail)
            state = [*state, plain]
            if type(message) is Call:
                message.reply([plain, receipt])
            yield state

    return body


async def letters(bench: Any, count: int = 1) -> Any:
    await until(lambda: len(bench.dead_letters) == count)
    return bench.dead_letters


async def test_letters_are_listed_across_keys(place: Place) -> None:
    bench = await place.open(shop(Bank()))
    for id in ("a", "b"):
        bench.lookup("shop", id=id).cast({"order": id})

    table = await letters(bench, 2)

    assert [(one.key, one.seq, one.message, one.error, one.attempts) for one in sorted(table, key=lambda x: x.key)] == [
        ("shop:a", 1, {"order": "a"}, "OSError: no mail today", 3),
        ("shop:b", 1, {"order": "b"}, "OSError: no mail today", 3),
    ]
    assert {one.at for one in table} == {place.clock.now()}
    assert table.columns == ("id", "key", "seq", "message", "error", "attempts", "at")
    assert [one.key for one in bench.lookup("shop", id="b").dead_letters] == ["shop:b"]


async def test_a_requeued_letter_does_nothing_twice_and_keeps_its_keys(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank))
    handle = bench.lookup("shop", id="a")
    handle.cast("order")
    (letter,) = await letters(bench)
    await place.crash(bench)
    bank.broken = False

    bench = await place.open(shop(bank))
    now = await bench.dead_letters.requeue(letter.id, by="ada")
    handle = bench.lookup("shop", id="a")

    assert await handle.until(lambda state: state == ["order"]) == ["order"]
    assert (now.status, now.by, list(bench.dead_letters)) == ("requeued", "ada", [])
    assert bank.charged == ["shop:a#1##charge#0"]
    assert set(bank.mailed) == {"shop:a#1##mail#0"}
    assert [(one.status, one.id) for one in bench.dead_letters.all()] == [("requeued", letter.id)]


async def test_a_letter_that_fails_again_keeps_its_keys_the_next_time_too(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank, max_attempts=1))
    bench.lookup("shop", id="a").cast("order")
    (first,) = await letters(bench)
    await bench.dead_letters.requeue(first.id)
    await until(lambda: [one.id for one in bench.dead_letters] not in ([], [first.id]))
    (second,) = bench.dead_letters
    bank.broken = False
    await bench.dead_letters.requeue(second.id)

    assert await bench.lookup("shop", id="a").until(lambda state: state == ["order"]) == ["order"]
    assert (bank.charged, set(bank.mailed)) == (["shop:a#1##charge#0"], {"shop:a#1##mail#0"})


async def test_an_edited_letter_begins_anew_under_keys_of_its_own(place: Place) -> None:
    bank = Bank()
    bank.broken = False
    bench = await place.open(shop(bank))
    handle = bench.lookup("shop", id="a")
    handle.cast("never")
    (letter,) = await letters(bench)

    await bench.dead_letters.requeue(letter.id, "mended")

    assert await handle.until(lambda state: state == ["mended"]) == ["mended"]
    assert bank.charged == ["shop:a#2##charge#0"]
    with pytest.raises(NotPlain):
        await bench.dead_letters.requeue(letter.id, object())


async def test_a_requeued_call_answers_whoever_asks_again(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank, max_attempts=1))
    handle = bench.lookup("shop", id="a")
    with pytest.raises(DeadLettered):
        await handle.call("order", id="1")
    with pytest.raises(DeadLettered, match="'shop:a' set message 1 aside: OSError: no mail today"):
        await handle.call("order", id="1")
    bank.broken = False
    (letter,) = bench.dead_letters

    await bench.dead_letters.requeue(letter.id)
    await handle.until(lambda state: state == ["order"])

    assert (letter.call_id, await handle.call("order", id="1")) == ("1", ["order", "receipt"])
    assert bank.charged == ["shop:a#1##charge#0"]


async def test_two_hosts_that_requeue_at_once_requeue_once(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank))
    handle = bench.lookup("shop", id="a")
    handle.cast("order")
    (letter,) = await letters(bench)
    other = await place.open(shop(bank))
    bank.broken = False

    ends = await asyncio.gather(
        bench.dead_letters.requeue(letter.id, by="one"),
        other.dead_letters.requeue(letter.id, by="two"),
        return_exceptions=True,
    )

    (refused,) = [end for end in ends if isinstance(end, AlreadyDecided)]
    (done,) = [end for end in ends if not isinstance(end, AlreadyDecided)]
    assert (refused.status, refused.by) == ("requeued", done.by)
    assert str(refused).endswith(f"is already requeued, by {done.by}; the first decision stands")
    assert await handle.until(lambda state: bool(state)) == ["order"]
    await settle()
    assert handle.state == ["order"]


async def test_a_bench_that_runs_nothing_requeues_for_those_that_do(place: Place) -> None:
    bank = Bank()
    worker = await place.open(shop(bank))
    handle = worker.lookup("shop", id="a")
    handle.cast("order")
    (letter,) = await letters(worker)
    bank.broken = False
    desk = await place.open(shop(bank), worker=False)

    await desk.dead_letters.requeue(letter.id)

    assert await handle.until(lambda state: bool(state)) == ["order"]


async def test_a_key_that_nobody_has_is_woken_by_a_requeue(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank))
    bench.lookup("shop", id="a").cast("order")
    (letter,) = await letters(bench)
    await bench.lookup("shop", id="a").dispose()
    bank.broken = False
    desk = await place.open(worker=False)

    await desk.dead_letters.requeue(letter.id)
    await place.clock.advance(2)

    await until(lambda: bench.store.keys_now(key="shop:a")[0].snapshot == '["order"]')


async def test_a_discarded_letter_stays_what_it_is(place: Place) -> None:
    bank = Bank()
    bench = await place.open(shop(bank, max_attempts=1))
    handle = bench.lookup("shop", id="a")
    with pytest.raises(DeadLettered):
        await handle.call("order", id="1")
    (letter,) = bench.dead_letters

    gone = await bench.dead_letters.discard(letter.id, by="ada")

    assert (gone.status, gone.by, list(bench.dead_letters)) == ("discarded", "ada", [])
    with pytest.raises(AlreadyDecided, match="is already discarded, by ada"):
        await bench.dead_letters.requeue(letter.id)
    with pytest.raises(DeadLettered):
        await handle.call("order", id="1")


@pytest.mark.parametrize("id", [12345, "12345", None, True])
async def test_a_letter_that_is_not_there_is_named(place: Place, id: Any) -> None:
    bench = await place.open()

    with pytest.raises(NoCode, match=f"no dead letter {id!r} in this store"):
        await bench.dead_letters.requeue(id)
