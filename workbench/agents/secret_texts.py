"""Secret texts: what of a value its JSON schema marks as secret, `writeOnly` or of the format `password`.

They are told as texts or by their places, or masked.

- The marks count at any depth: in objects, lists, unions and definitions; what is marked is secret with all in it.
- A truth value, nothing and an empty text are no secrets: they stand for too much else.

Knows nothing of tools or runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = [
    "DOTS",
    "RAW",
    "masked",
    "places_of_call",
    "places_of_row",
    "secret_places",
    "secret_texts",
    "secret_texts_of_raw",
    "texts_at",
    "without",
]

DOTS = "••••••"
"""What stands for a secret where people look."""

RAW = ""
"""The name under which the arguments of a call are shown that are no JSON object, as they came."""

_STRING = r'"((?:[^"\\]|\\.)*)'


def secret_texts(schema: Any, value: Any) -> Iterator[str]:
    """The texts of the secrets in a value, by its schema."""
    for _, found in _marked(schema, value, schema, frozenset()):
        yield from _leaves(found)


def secret_texts_of_raw(schema: Any, text: str) -> Iterator[str]:
    """The texts of the secrets in what was meant to be the JSON of a value, as they stand there, and what they say."""
    for name in _names(schema):
        for found in re.findall(rf"{re.escape(json.dumps(name))}\s*:\s*{_STRING}", text):
            if found:
                yield found
            try:
                said = json.loads(f'"{found}"')
            except ValueError:  # cut off in the middle of an escape
                continue
            yield from _leaves(said)


def secret_places(schema: Any, value: Any) -> list[str]:
    """Where the secrets in a value stand, by its schema, as JSON pointers such as `/login/password`."""
    return list(dict.fromkeys(at for at, _ in _marked(schema, value, schema, frozenset())))


def places_of_call(schema: Any, args: Any) -> list[str]:
    """As `secret_places`, for the arguments of a call; of those that cannot be read, None, all are."""
    if args is None:
        return [f"/{RAW}"] if any(_names(schema)) else []
    return secret_places(schema, args)


def places_of_row(row: Mapping[str, Any]) -> list[str]:
    """Where the secrets of a call stand in its arguments, by its row in a view: as marked when it ran or asked."""
    asked = secret_places(row["approval"]["schema"], row["args"]) if row["approval"] is not None else []
    return list(dict.fromkeys([*asked, *row.get("secret", ())]))


def without(words: str, secrets: Iterable[str]) -> str:
    """Words with dots for the secrets that are told in them, as they are or as Python or JSON writes them."""
    told = {form for text in secrets for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1])}
    for text in sorted(told, key=len, reverse=True):
        words = words.replace(text, DOTS)
    return words


def texts_at(value: Any, places: Iterable[str]) -> Iterator[str]:
    """The texts of the secrets in a value that stand at these places."""
    for place in places:
        found = value
        for part in _parts(place):
            found = _inside(found, part)
        yield from _leaves(found)


def masked(value: Any, places: Iterable[str], mask: str) -> Any:
    """A value with `mask` for whatever stands at these places."""
    for place in places:
        value = _with_mask(value, _parts(place), mask)
    return value


def _parts(place: str) -> list[str]:
    """The steps to a place; one that is no pointer is the name of an argument."""
    if not place.startswith("/"):
        return [place]
    return [part.replace("~1", "/").replace("~0", "~") for part in place[1:].split("/")]


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return None


def _with_mask(value: Any, parts: list[str], mask: str) -> Any:
    if not parts:
        return mask
    first, rest = parts[0], parts[1:]
    if isinstance(value, Mapping) and first in value:
        return {name: _with_mask(item, rest, mask) if name == first else item for name, item in value.items()}
    if isinstance(value, list | tuple) and first.isdigit() and int(first) < len(value):
        return type(value)(
            _with_mask(item, rest, mask) if place == int(first) else item for place, item in enumerate(value)
        )
    return value


def _marked(schema: Any, value: Any, root: Any, seen: frozenset[str], at: str = "") -> Iterator[tuple[str, Any]]:
    """What is marked in a value that stands `at` a place; where it has no place of its own, that of what it is in.

    `seen` are the references that led to this value, so that a schema that goes in a circle comes to an end.
    """
    if not isinstance(schema, Mapping):
        return
    if _is_marked(schema):
        if at or not isinstance(value, Mapping):
            yield at, value
        else:  # a whole has no place: each of its parts is told
            yield from ((_place(at, name), item) for name, item in value.items())
        return
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        yield from _marked(_definition(root, reference), value, root, seen | {reference}, at)
    for word in ("anyOf", "oneOf", "allOf"):
        for each in _list(schema.get(word)):
            yield from _marked(each, value, root, seen, at)
    if isinstance(value, Mapping):
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        for name, item in value.items():
            for own in _schemas_of(name, schema, known):
                yield from _marked(own, item, root, frozenset(), _place(at, name))
    elif isinstance(value, list | tuple | set | frozenset):
        first = _list(schema.get("prefixItems"))
        has_places = isinstance(value, list | tuple)
        for number, item in enumerate(value):
            own = first[number] if number < len(first) else schema.get("items")
            yield from _marked(own, item, root, frozenset(), f"{at}/{number}" if has_places else at)


def _place(at: str, name: object) -> str:
    """The place of what has a name inside what stands `at` a place."""
    return f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _schemas_of(name: str, schema: Mapping[str, Any], known: Mapping[str, Any]) -> list[Any]:
    """The schemas of what has a name; those by pattern count for every name, since a mask too many harms nobody."""
    by_pattern = schema.get("patternProperties")
    others = list(by_pattern.values()) if isinstance(by_pattern, Mapping) else []
    return [known.get(name, schema.get("additionalProperties")), *others]


def _is_marked(schema: Mapping[str, Any]) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool) and str(value):
        yield str(value)


def _names(schema: Any) -> Iterator[str]:
    """The names of all properties that are marked, wherever they are defined."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        for name, own in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(own, Mapping) and any(_is_marked(one) for one in (own, *_alternatives(own))):
                yield name
        for each in schema.values():
            yield from _names(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _names(each)


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for word in ("anyOf", "oneOf", "allOf"):
        yield from (each for each in _list(schema.get(word)) if isinstance(each, Mapping))


def _definition(root: Any, reference: str) -> Any:
    """What a reference inside a schema points at, such as `#/$defs/Login` or `#`; None for one that leads nowhere."""
    found = root
    for part in [] if reference == "#" else _parts(reference.removeprefix("#")):
        found = _inside(found, part)
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
