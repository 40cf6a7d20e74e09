"""Schemas: what is wrong with a value by a JSON schema, in words that a model and a person can act on.

The embassy of jsonschema, which is loaded at the first check. Knows nothing of where a schema came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.errors import BadInput

__all__ = ["check_schema", "misfits"]


def misfits(schema: Mapping[str, Any], value: Any, name: str = "arguments") -> list[dict[str, str]]:
    """What is wrong with a value by a JSON schema: a list of `{"parameter", "found", "expected"}`, empty when it fits.

    Problems of the whole value are called `name`. A reference out of the schema is followed nowhere. Raises: BadInput
    when it cannot be checked because the schema is none.
    """
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    check_schema(schema, name)
    checker = validator_for(schema, default=_default())
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
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=_default()).check_schema(schema)
    except SchemaError as error:
        raise BadInput(f"the schema of {name} is no JSON schema: {error.message}") from error


def _default() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator


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
