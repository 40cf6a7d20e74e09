"""Keys and payloads: what a keeper takes, and how it says no."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stores import begin

from workbench.errors import BadInput, StoreError
from workbench.store.opening import store_for
from workbench.store.store import Store


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Store]:
    opened = store_for(":memory:" if request.param == "memory" else path)
    await opened.open(label="test", lease=30.0, now=time.time)
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "a key is a text of at least one character, not ''; name the process"),
        (7, "a key is a text of at least one character, not 7; name the process"),
        ("half \ud800", "the key 'half \\ud800' has half of a character in it; use text of UTF-8"),
    ],
)
async def test_what_cannot_be_a_key_is_refused_by_every_verb(store: Store, key: str, words: str) -> None:
    for verb in (
        lambda: store.claim(key),
        lambda: store.load(key),
        lambda: store.register(key, "order", "{}"),
        lambda: store.post_now(key, "1"),
    ):
        with pytest.raises(BadInput) as caught:
            verb()
        assert str(caught.value) == words
        assert caught.value.fields == {"key": key}

    assert await store.keys() == []


async def test_a_payload_that_is_no_text_is_refused_alone(store: Store) -> None:
    epoch = await begin(store, "order:1")

    for payload in (None, {"a": 1}, "half \ud800"):
        with pytest.raises(StoreError):
            await store.append("order:1", epoch, payload)  # type: ignore[arg-type]

    assert await store.append("order:1", epoch, '"add"') == 1
