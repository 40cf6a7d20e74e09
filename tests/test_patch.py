"""Patches turn any plain value into any other, and one file of vectors binds this side and the front end's."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import patch
from workbench.errors import BadInput
from workbench.patch import apply, diff

VECTORS = json.loads((Path(__file__).parent / "vectors" / "patches.json").read_text(encoding="utf-8"))

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60)
keys = st.text(max_size=3) | st.sampled_from(["a", "b", "~", "/", "~1", "", "0", "__proto__"])
plain = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=25
)


def tagged(value: Any) -> Any:
    """The value with its types spelled out, so that True, 1 and 1.0 compare as different."""
    if isinstance(value, dict):
        return {key: tagged(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [tagged(inner) for inner in value]
    return type(value).__name__, value


@given(plain, plain)
def test_a_difference_turns_one_value_into_the_other(before: Any, after: Any) -> None:
    kept = copy.deepcopy(before)

    result = apply(before, json.loads(json.dumps(diff(before, after))))

    assert tagged(result) == tagged(after)
    assert tagged(before) == tagged(kept)


@given(plain, plain)
def test_a_difference_undoes_the_other_way_round(before: Any, after: Any) -> None:
    there = apply(before, diff(before, after))

    assert tagged(apply(there, diff(there, before))) == tagged(before)


@given(plain)
def test_equal_values_have_no_difference(value: Any) -> None:
    assert diff(value, copy.deepcopy(value)) == []


@given(st.text(min_size=40), st.text(), st.text())
def test_grown_text_sends_only_what_grew(text: str, tail: str, head: str) -> None:
    ops = diff({"text": text}, {"text": head + text + tail})

    assert sum(len(op[4]) for op in ops) <= len(head) + len(text) * bool(head) + len(tail)
    if not head:
        assert [op[4] for op in ops] == ([tail] if tail else [])


@given(st.lists(st.integers()), st.lists(st.integers(), min_size=1), st.data())
def test_an_insertion_into_a_list_is_one_splice(items: list[int], new: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(items)))

    ops = diff(items, items[:at] + new + items[at:])

    assert [(op[0], op[3], len(op[4])) for op in ops] == [("splice", 0, len(new))]


@given(plain, plain)
def test_a_patch_never_changes_the_values_it_carries(before: Any, after: Any) -> None:
    first = [["set", "", {"deep": [after]}], ["splice", "/deep", 0, 0, [before]]]
    kept = copy.deepcopy(first)

    apply(None, [*first, ["set", "/deep/0", 1]])

    assert first == kept


@pytest.mark.parametrize("vector", VECTORS["differences"], ids=lambda vector: vector["name"])
def test_the_vectors_are_what_this_side_makes(vector: dict[str, Any]) -> None:
    assert tagged(diff(vector["before"], vector["after"])) == tagged(vector["ops"])
    assert tagged(apply(vector["before"], vector["ops"])) == tagged(vector["after"])


@pytest.mark.parametrize("vector", VECTORS["applications"], ids=lambda vector: vector["name"])
def test_the_vectors_are_what_this_side_does(vector: dict[str, Any]) -> None:
    kept = copy.deepcopy(vector["value"])

    assert tagged(apply(vector["value"], vector["ops"])) == tagged(vector["result"])
    assert tagged(vector["value"]) == tagged(kept)


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_a_patch_that_does_not_fit_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        apply(vector["value"], vector["ops"])

    assert caught.value.fields["path"] == vector["ops"][-1][1]


@pytest.mark.parametrize("vector", VECTORS["malformed"], ids=lambda vector: vector["name"])
def test_what_is_no_operation_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="no operation"):
        apply(vector["value"], vector["ops"])


def test_the_vectors_have_every_verb_in_every_section() -> None:
    verbs = {
        section: {op[0] for vector in VECTORS[section] for op in vector["ops"] if op}
        for section in ("differences", "applications", "refused")
    }

    assert verbs["differences"] == verbs["applications"] == {"set", "del", "splice"}
    assert verbs["refused"] == {"set", "del", "splice", "move", "add"}


@given(plain, plain, plain)
def test_two_patches_one_after_the_other_are_one(first: Any, second: Any, third: Any) -> None:
    there, on = diff(first, second), diff(second, third)

    assert tagged(apply(first, [*there, *on])) == tagged(third)


@given(plain, st.lists(st.recursive(leaves, st.lists, max_leaves=4), max_size=4))
def test_any_other_operation_is_refused_or_done_and_harms_nothing(value: Any, ops: list[Any]) -> None:
    kept = copy.deepcopy(value)

    try:
        apply(value, ops)
    except BadInput:
        pass

    assert tagged(value) == tagged(kept)


@pytest.mark.parametrize("grow", [lambda n: list(range(n)), lambda n: [{"n": i, "on": True} for i in range(n)]])
def test_a_growing_list_is_compared_once_through(monkeypatch: pytest.MonkeyPatch, grow: Any) -> None:
    seen = []
    compared = patch.same
    monkeypatch.setattr(patch, "same", lambda one, other: seen.append(1) or compared(one, other))

    costs = []
    for size in (1000, 2000):
        seen.clear()
        assert [op[:4] for op in diff({"rows": grow(size)}, {"rows": grow(size + 1)})] == [["splice", "/rows", size, 0]]
        costs.append(len(seen))

    assert costs[1] - costs[0] == costs[0]


def test_a_streamed_text_costs_its_characters_and_nothing_else() -> None:
    tokens = [f"token-{number} " for number in range(5000)]
    text, sent = "", 0

    for token in tokens:
        ops = diff({"text": text}, {"text": text + token})
        sent += sum(len(op[-1]) for op in ops)
        text += token

    assert sent <= len(text) + patch.SHORT * 3


def test_true_is_not_one_and_one_is_not_a_float() -> None:
    assert diff([True, 1, 0], [1, 1.0, False]) == [["set", "/0", 1], ["set", "/1", 1.0], ["set", "/2", False]]
