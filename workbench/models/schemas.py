"""Schemas: what is wrong with a value by a JSON schema, in words that a model and a person can act on.

The embassy of jsonschema, which is loaded at the first check. An extra of it that some environments have takes seconds
to load, which would hold the loop, and is left out. Knows nothing of where a schema came from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from workbench.errors import BadInput

__all__ = ["check_schema", "misfits"]

GRAMMAR = "rfc3987_syntax"


def misfits(schema: Mapping[str, Any], value: Any, name: str = "arguments") -> list[dict[str, str]]:
    """What is wrong with a value by a JSON schema: a list of `{"parameter", "found", "expected"}`, empty when it fits.

    Problems of the whole value are called `name`. A reference out of the schema is followed nowhere. Raises: BadInput
    when it cannot be checked because the schema is none.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    check_schema(schema, name)
    checker = _checker_of(schema)
    try:
        validator = checker(schema, format_checker=checker.FORMAT_CHECKER, registry=Registry())
        found = sorted(validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path])
    except Unresolvable as error:
        raise BadInput(
            f"the schema of {name} refers to {error.ref!r}, which is not in it; put it into $defs"
        ) from error
    return [problem for error in found for problem in _problems(error, name)]


def check_schema(schema: Mapping[str, Any], name: str) -> None:
    """Raises: BadInput when `schema` is no JSON schema; `name` is what it is the schema of."""
    checker = _checker_of(schema)
    try:
        checker.check_schema(schema)
    except _jsonschema().SchemaError as error:
        raise BadInput(f"the schema of {name} is no JSON schema: {error.message}") from error


def _checker_of(schema: Mapping[str, Any]) -> Any:
    """The checker for the dialect that a schema says it is in, else for that of 2020-12."""
    library = _jsonschema()
    return library.validators.validator_for(schema, default=library.Draft202012Validator)


@cache
def _jsonschema() -> Any:
    """The library, loaded without the grammar of `iri`, a format that nobody here relies on."""
    ours = "jsonschema" not in sys.modules and GRAMMAR not in sys.modules
    if ours:
        sys.modules[GRAMMAR] = None  # type: ignore[assignment]
    try:
        import jsonschema
    finally:
        if ours:
            del sys.modules[GRAMMAR]
    return jsonschema


def _problems(error: Any, name: str) -> list[dict[str, str]]:
    """One of the checker's errors, by what of the value it is about."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    inside = f"{path}." if path else ""
    match error.validator:
        case "required":
            missing = [each for each in error.validator_value if each not in error.instance]
            return [{"parameter": inside + each, "found": "missing", "expected": "a value"} for each in missing]
        case "additionalProperties" if error.validator_value is False:
            known = error.schema.get("properties", {})
            patterns = error.schema.get("patternProperties", {})
            extra = [
                each
                for each in error.instance
                if each not in known and not any(re.search(pattern, each) for pattern in patterns)
            ]
            expected = f"one of {', '.join(known)}" if known else "no parameters"
            return [
                {"parameter": inside + each, "found": _shown(error.instance[each]), "expected": expected}
                for each in extra
            ]
        case _:
            return [{"parameter": path or name, "found": _shown(error.instance), "expected": _expectation(error)}]


def _expectation(error: Any) -> str:
    wanted = error.validator_value
    match error.validator:
        case "type":
            return f"a value of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
        case "enum":
            return f"one of {', '.join(map(repr, wanted))}"
        case "const":
            return repr(wanted)
        case "anyOf" | "oneOf":
            return "a value of another type"
        case rule:
            return f"{rule} {wanted!r}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
