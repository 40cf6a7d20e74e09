"""Values checked by JSON schemas that came from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from workbench.errors import BadInput
from workbench.models.schemas import check_schema, misfits

TRIP = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Rome", "Oslo"]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"stop": {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}},
}


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"city": "Rome", "stops": [{"day": 1}], "x-note": "a"}, []),
        ({}, [("city", "missing", "a value")]),
        ({"city": "Rom"}, [("city", "'Rom'", "one of 'Rome', 'Oslo'")]),
        ({"city": "Rome", "stops": [{"day": 1}, {"day": "a"}]}, [("stops[1].day", "'a'", "a value of type integer")]),
        ({"city": "Rome", "stops": [{}]}, [("stops[0].day", "missing", "a value")]),
        ({"city": "Rome", "z": 1, "y": 2}, [("z", "1", "one of city, stops"), ("y", "2", "one of city, stops")]),
        ({"city": "Rome", "stops": [{"day": True}]}, [("stops[0].day", "True", "a value of type integer")]),
        ([1], [("trip", "[1]", "a value of type object")]),
    ],
)
def test_every_misfit_is_named_with_its_place(value: Any, problems: list[tuple[str, str, str]]) -> None:
    found = misfits(TRIP, value, "trip")

    assert [(each["parameter"], each["found"], each["expected"]) for each in found] == problems


def test_a_reference_out_of_the_schema_is_followed_nowhere() -> None:
    with pytest.raises(BadInput, match=r"refers to 'http://127\.0\.0\.1:9/secret\.json', which is not in it"):
        misfits({"$ref": "http://127.0.0.1:9/secret.json"}, {})


@pytest.mark.parametrize("schema", [{"type": "thing"}, {"required": "city"}, {"minimum": "a"}])
def test_what_is_no_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="the schema of the tool is no JSON schema"):
        check_schema(schema, "the tool")


def test_the_first_check_loads_no_grammar_and_leaves_it_to_others() -> None:
    words = """
import sys
from workbench.models.schemas import misfits
assert misfits({"type": "integer"}, "x")
assert "rfc3987_syntax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", words], check=True, timeout=60)
