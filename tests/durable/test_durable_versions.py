"""States of another version, and what a definition may say."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from typing import Any

import pytest
from places import Place, until
from pydantic import BaseModel

from workbench import Call, DurableContext, durable
from workbench.durable.fingerprint import fingerprint
from workbench.errors import BadInput


def account(version: int, migrate: Any = None, *, publish: bool = True) -> Any:
    @durable(key="account:{id}", name="account", version=version, migrate=migrate)
    async def body(ctx, id: str):
        state = ctx.restored if ctx.restored is not None else {"cents": 0}
        if publish:
            yield state
        async for message in ctx:
            if type(message) is Call:
                message.reply(state)
            elif publish:
                state = {**state, "cents": state.get("cents", 0) + message}
                yield state

    return body


async def stored(place: Place, cents: int) -> None:
    bench = await place.open(account(1))
    handle = bench.lookup("account", id="a")
    handle.cast(cents)
    await handle.call("state", id="0")
    await bench.close()
    place.benches.remove(bench)


async def test_a_state_is_migrated_once_and_told_its_version(place: Place) -> None:
    told = []

    def migrate(old: Any, version: int) -> Any:
        told.append((old, version))
        return {"cents": old["cents"] * 10, "currency": "EUR"}

    await stored(place, 5)
    bench = await place.open(account(2, migrate))
    assert await bench.lookup("account", id="a").call("state", id="1") == {"cents": 50, "currency": "EUR"}
    await bench.close()
    place.benches.remove(bench)

    bench = await place.open(account(2, migrate))

    assert await bench.lookup("account", id="a").call("state", id="2") == {"cents": 50, "currency": "EUR"}
    assert told == [({"cents": 5}, 1)]
    assert bench.store.keys_now(key="account:a")[0].version == 2


async def test_a_migrated_state_is_committed_also_by_a_body_that_yields_nothing(place: Place) -> None:
    def migrate(old: Any, version: int) -> Any:
        return {"cents": old["cents"] * 10}

    await stored(place, 5)
    bench = await place.open(account(2, migrate, publish=False))
    await bench.lookup("account", id="a").call("state", id="1")
    await bench.close()
    place.benches.remove(bench)

    bench = await place.open(account(2, migrate))

    assert await bench.lookup("account", id="a").call("state", id="2") == {"cents": 50}


async def test_another_version_without_migrate_does_not_start(place: Place) -> None:
    await stored(place, 5)
    bench = await place.open(account(2))
    handle = bench.lookup("account", id="a")
    await until(lambda: handle.status == "crashed")

    assert isinstance(handle.error, BadInput)
    assert str(handle.error) == (
        "'account:a' has a state of version 1 and account is version 2; give the definition a migrate=…"
    )
    assert bench.store.keys_now(key="account:a")[0].snapshot == '{"cents":5}'


async def test_a_migrate_that_fails_starts_nothing_and_keeps_the_state(place: Place) -> None:
    await stored(place, 5)
    bench = await place.open(account(2, lambda old, version: old["missing"]))
    handle = bench.lookup("account", id="a")
    await until(lambda: handle.status == "crashed")

    assert isinstance(handle.error, KeyError)
    assert bench.store.keys_now(key="account:a")[0].snapshot == '{"cents":5}'


async def test_a_state_that_is_newer_than_the_code_is_left_alone_until_its_code_comes(place: Place) -> None:
    await stored(place, 5)
    migrated = []
    older = account(0, lambda old, version: migrated.append(old))
    bench = await place.open(older)
    handle = bench.lookup(older, id="a")
    await until(lambda: handle.status == "crashed")
    words = (
        "its state cannot be taken up: 'account:a' has a state of version 1 and account is version 0: "
        "the code is too old; add the newer one with bench.add(…)"
    )
    assert (bench.blocked, migrated) == ({"account:a": words}, [])
    await bench.store.post("account:a", "7", wake=place.clock.now())
    lives = len(bench.store.activations_now("account:a"))
    await place.clock.advance(5)
    assert len(bench.store.activations_now("account:a")) == lives

    bench.add(account(1))

    await until(lambda: handle.state == {"cents": 12})
    assert bench.blocked == {}


async def test_a_key_whose_migration_fails_is_blocked_until_one_works(place: Place) -> None:
    await stored(place, 5)
    bench = await place.open(account(2, lambda old, version: old["missing"]))
    handle = bench.lookup("account", id="a")
    await until(lambda: handle.status == "crashed")
    assert bench.blocked == {"account:a": "its state cannot be taken up: KeyError: 'missing'"}

    bench.add(account(2, lambda old, version: {"cents": old["cents"] * 10}))

    await until(lambda: handle.state == {"cents": 50})
    assert bench.blocked == {}


async def test_a_key_whose_arguments_do_not_fit_its_code_is_blocked_until_they_do(place: Place) -> None:
    @durable(key="account:{number}", name="account")
    async def renamed(ctx, number: str):
        yield 0

    await stored(place, 5)
    bench = await place.open(renamed)
    words = (
        "its arguments do not fit: account(ctx, number: 'str') does not take {'id': 'a'}: missing a required argument"
    )
    await bench.store.post("account:a", "7", wake=place.clock.now())
    await place.clock.advance(1)
    assert bench.blocked == {"account:a": f"{words}: 'number'"}
    lives = len(bench.store.activations_now("account:a"))
    await place.clock.advance(100)
    assert len(bench.store.activations_now("account:a")) == lives

    bench.add(account(1))

    handle = bench.lookup("account", id="a")
    await until(lambda: handle.state == {"cents": 12})
    assert bench.blocked == {}


async def test_the_code_that_each_life_ran_is_kept_with_its_key(place: Place) -> None:
    def one(word: str) -> Any:
        @durable(key="coded:{id}", name="coded")
        async def body(ctx, id: str):
            yield "old"

        @durable(key="coded:{id}", name="coded")
        async def other(ctx, id: str):
            yield "new"

        return body if word == "old" else other

    for word in ("old", "old", "new"):
        bench = await place.open(one(word))
        handle = bench.lookup("coded", id="a")
        await until(lambda: handle.status == "done")  # noqa: B023 - waited for in this turn
        assert handle.code == one(word).code
        await place.crash(bench)

    codes = [life.code for life in (await place.open(worker=False)).store.activations_now("coded:a")]
    assert codes[0] == codes[1] != codes[2]
    assert all(len(code) == 12 for code in codes)


def test_a_fingerprint_is_of_the_lines_and_the_same_in_every_process() -> None:
    lines = "def f(x):\n    return x in {'a', 'b', 'c'} and (lambda y: y + 1)(2)\n"
    script = f"from workbench.durable.fingerprint import fingerprint\n\n# elsewhere\n{lines}print(fingerprint(f))"
    ran = [
        subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    ]
    one = types.FunctionType(compile(lines, "here", "exec").co_consts[0], {})

    assert [process.stdout.decode().strip() for process in ran] == [fingerprint(one)] * 2
    assert fingerprint(one) != fingerprint(lambda x: x)
    assert fingerprint(print) is None


async def test_a_null_state_is_restored_as_one(place: Place) -> None:
    restored = []

    @durable(key="empty:{id}", name="empty")
    async def empty(ctx, id: str):
        restored.append(ctx.restored)
        async for message in ctx:
            yield None
            message.reply(1)

    bench = await place.open(empty)
    await bench.lookup(empty, id="a").call("go", id="1")

    assert bench.store.keys_now(key="empty:a")[0].snapshot == "null"


class Ask(BaseModel):
    text: str


class Told(BaseModel):
    texts: list[str]


async def test_typed_messages_and_states_come_back_as_their_types(place: Place) -> None:
    async def body(ctx: DurableContext[Ask, Told], id: str):
        state = ctx.restored or Told(texts=[])
        yield state
        async for message in ctx:
            assert isinstance(message, Ask)
            state = Told(texts=[*state.texts, message.text])
            yield state

    body.__annotations__["ctx"] = DurableContext[Ask, Told]
    definition = durable(key="typed:{id}", name="typed")(body)
    bench = await place.open(definition)
    handle = bench.lookup(definition, id="a")
    handle.cast(Ask(text="one"))
    assert await handle.until(lambda state: len(state.texts) == 1) == Told(texts=["one"])
    await place.crash(bench)

    again = (await place.open(definition)).lookup(definition, id="a")
    again.cast(Ask(text="two"))

    assert await again.until(lambda state: len(state.texts) == 2) == Told(texts=["one", "two"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": "x:{name}"}, r"uses \{name\}; its parameters are \['id'\]"),
        ({"key": "x:{id}", "version": -1}, "version of body is a whole number from 0"),
        ({"key": "x:{id}", "version": True}, "version of body is a whole number from 0"),
        ({"key": "x:{id}", "max_attempts": 0}, "max_attempts of body is a whole number from 1"),
        ({"key": "x:{id!r}"}, "takes no format"),
        ({"key": "x:{id:>10}"}, "takes no format"),
        ({"key": "x:{}"}, r"uses \{\}"),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_is_refused(options: Any, words: str) -> None:
    async def body(ctx, id: str):
        yield id

    with pytest.raises(BadInput, match=words):
        durable(**options)(body)


def test_different_arguments_never_share_a_key() -> None:
    @durable(key="pair:{a}:{b}")
    async def pair(ctx, a, b):
        yield a

    values: list[Any] = ["", ":", "a:b", "~1", "1", 1, True, 1.0, None, "null", "%3A", [1], ["1"], {"a": 1}, ("x",)]
    keys = {pair.key_of({"a": a, "b": b}) for a in values for b in values}

    assert len(keys) == len(values) ** 2


def test_the_order_of_a_records_keys_is_no_difference() -> None:
    @durable(key="one:{a}")
    async def one(ctx, a):
        yield a

    assert one.key_of({"a": {"x": 1, "y": 2}}) == one.key_of({"a": {"y": 2, "x": 1}})
