"""Conditions: what a rule of a policy asks of the arguments of a call, as plain data that can be stored and compared.

- A condition is a name with an operator and a value, `{"amount": {"gt": 100}}`, as deep as the arguments go; all of a
  rule's hold at once. A value instead of an operator means `eq`.
- Nothing is guessed: an argument that is missing, of another kind, or no number where one is compared is refused with
  `BadInput`, and whoever asked takes that for a reason to ask a person.

Source: AGENTS 4 (policy). Knows nothing of tools, rules or TOML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from workbench.errors import BadInput
from workbench.plain import decode, digest, encode

__all__ = ["OPERATORS", "check", "holds", "in_words"]

MISSING = object()


def check(where: str, conditions: object) -> dict[str, Any]:
    """The conditions themselves, as plain data. Raises: BadInput naming `where`, the argument and what is wrong."""
    if not isinstance(conditions, Mapping) or not conditions:
        raise BadInput(f'{where} is a table of conditions by argument, e.g. {{"amount": {{"gt": 100}}}}')
    checked: dict[str, Any] = decode(encode({str(name): each for name, each in conditions.items()}, where))
    for name, each in checked.items():
        _check(f"{where}.{name}", each)
    return checked


def _check(where: str, condition: Any) -> None:
    if not isinstance(condition, dict):
        return
    operators = condition.keys() & OPERATORS.keys()
    if not condition or (operators and condition.keys() - OPERATORS.keys()):
        raise BadInput(
            f"{where} mixes operators with names, found {sorted(condition)}; the operators are {', '.join(OPERATORS)}"
        )
    for name, value in condition.items():
        if operators:
            expected, takes = EXPECTED[name]
            if not isinstance(value, takes) or (isinstance(value, bool) and bool not in takes):
                raise BadInput(f"{where}.{name} takes {expected}, found {value!r}")
        else:
            _check(f"{where}.{name}", value)


def holds(conditions: Mapping[str, Any], values: Any) -> bool:
    """Whether all conditions hold for these arguments. Raises: BadInput where that cannot be told."""
    return all(_holds(name, each, _inside(values, name)) for name, each in conditions.items())


def in_words(conditions: Mapping[str, Any], under: str = "") -> str:
    """The conditions as a person writes them: `amount gt 100 and country eq "DE"`."""
    said = []
    for name, each in conditions.items():
        path = f"{under}{name}"
        if not isinstance(each, Mapping):
            said.append(f"{path} eq {each!r}")
        elif each.keys() & OPERATORS.keys():
            said += [f"{path} {operator} {value!r}" for operator, value in each.items()]
        else:
            said.append(in_words(each, f"{path}."))
    return " and ".join(said)


def _holds(path: str, condition: Any, value: Any) -> bool:
    if not isinstance(condition, Mapping):
        condition = {"eq": condition}
    if not condition.keys() & OPERATORS.keys():
        return all(_holds(f"{path}.{name}", each, _inside(value, name)) for name, each in condition.items())
    return all(_compare(path, operator, value, expected) for operator, expected in condition.items())


def _inside(values: Any, name: str) -> Any:
    found = values.get(name, MISSING) if isinstance(values, Mapping) else getattr(values, name, MISSING)
    return found.value if isinstance(found, Enum) else found


def _compare(path: str, operator: str, value: Any, expected: Any) -> bool:
    if operator == "given":
        return (value is not MISSING and value is not None) is expected
    if value is MISSING:
        raise BadInput(f"there is no argument {path!r}")
    try:
        return OPERATORS[operator](value, expected)
    except (TypeError, ArithmeticError) as error:
        raise BadInput(f"{path} {operator} {expected!r} cannot be told of {value!r:.60}") from error


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def ordered(value: Any, expected: Any) -> bool:
        if isinstance(value, bool):
            raise TypeError("a truth value has no order")
        return bool(compare(value, expected))

    return ordered


def _equal(value: Any, expected: Any) -> bool:
    """Equal and of one kind: True is not 1, and a text is no number."""
    if value is None or expected is None:
        return value is expected
    kinds = [isinstance(each, bool) for each in (value, expected)]
    if kinds[0] is not kinds[1] or isinstance(value, str) is not isinstance(expected, str):
        raise TypeError("of another kind")
    same = value == expected
    return same if isinstance(same, bool) else digest(value) == digest(expected)


def _one_of(value: Any, expected: list[Any]) -> bool:
    alike = [each for each in expected if isinstance(each, type(value)) or isinstance(value, type(each))]
    if not alike:
        raise TypeError("of another kind")
    return any(_equal(value, each) for each in alike)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _contains(value: Any, expected: Any) -> bool:
    if not isinstance(value, str | list | tuple | set | frozenset | Mapping):
        raise TypeError("nothing can be in it")
    return expected in value


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "ne": lambda value, expected: not _equal(value, expected),
    "gt": _ordered(lambda value, expected: value > expected),
    "ge": _ordered(lambda value, expected: value >= expected),
    "lt": _ordered(lambda value, expected: value < expected),
    "le": _ordered(lambda value, expected: value <= expected),
    "in": _one_of,
    "not_in": lambda value, expected: not _one_of(value, expected),
    "glob": lambda value, expected: fnmatchcase(_text(value), expected),
    "starts": lambda value, expected: _text(value).startswith(expected),
    "contains": _contains,
    "given": lambda value, expected: False,
}
"""What can be asked of an argument. `given` is answered before the argument is looked at."""

_ANY = (object,)
EXPECTED: dict[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("eq", "ne", "contains"), ("a value", (*_ANY, bool))),
    **dict.fromkeys(("gt", "ge", "lt", "le"), ("a number, a text or a date", _ANY)),
    **dict.fromkeys(("in", "not_in"), ("a list of values", (list,))),
    **dict.fromkeys(("glob", "starts"), ("a text", (str,))),
    "given": ("true or false", (bool,)),
}
