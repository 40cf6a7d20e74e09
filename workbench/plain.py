"""Plain data: what the journal can hold, as text and back.

- Plain is JSON (dict with text keys, list, str, int, float, bool, None) and, by fixed tags, datetime, date, timedelta,
  Decimal, UUID, bytes, set and tuple. What comes back equals what went in, types included; anything else is refused by
  its path before anything is written.
- A tag is `{"$": name, "v": …}`; a dict that has the key "$" itself is written as its pairs, so no data can pass for a
  tag.
- A time keeps the name of its zone, not only its offset; a zone without a name that comes back is refused.
- Decoding calls nothing but the constructors in this file: stored data can never import or run anything.
- A model, dataclass or Enum needs a declared type to come back (`Shape`); the text says so, and reads as plain data
  without it.

Limits: depth `DEPTH`, one value `SIZE` bytes of text. Source: DESIGN 2, CASES 35, 36, 39.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import typing
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from workbench.errors import BadInput, NotPlain

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["DEPTH", "PLAIN", "SIZE", "Shape", "canonical", "decode", "digest", "encode", "is_deeper", "shape_of"]

DEPTH = 200
SIZE = 64 * 1024 * 1024
WIDE = 1 << 63
_SCALARS = frozenset((str, int, float, bool, type(None)))
_SURE = frozenset((str, bool, type(None)))
_EXACT = _SURE | {int}


def _writer(*, sort_keys: bool) -> Callable[[object], str]:
    """What `JSONEncoder.encode` does, with its C part made once instead of in every call: that was half of the cost."""
    options = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # a Python without it
        return options.encode
    text_of = json.encoder.encode_basestring_ascii
    chunks = make(None, options.default, text_of, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(chunks(value, 0))


_write = _writer(sort_keys=False)
_write_sorted = _writer(sort_keys=True)
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def encode(value: object, path: str = "value") -> str:
    """The text of a plain value; `path` is how errors name it.

    Raises: NotPlain when something in it cannot come back as it is, or a limit is passed.
    """
    if type(value) in _SURE or _native(value, DEPTH):
        try:
            raw = to_json(value)  # a third of what `json` takes
        except ValueError:  # half of a character
            raw = _write(_tagged(value, path, DEPTH)).encode()
    else:
        raw = _write(_tagged(value, path, DEPTH)).encode()
    if len(raw) > SIZE:
        raise NotPlain(
            f"{path} is {len(raw)} bytes as text, more than the limit of {SIZE}; store a reference to it", path=path
        )
    return raw.decode()


def decode(text: str) -> Any:
    """The value that `encode` was given. A typed value (see `Shape`) comes back as plain data.

    Raises: BadInput, and nothing else, for a text that `encode` did not write.
    """
    try:
        return _read_tagged(text) if '"$":' in text else _read(text)
    except BadInput:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"the stored text {text!r:.60} cannot be read: {error}; the row was changed by hand") from error


def _read(text: str) -> Any:
    """`json.loads` without its search for white space, which `encode` never writes."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


def is_deeper(value: object, levels: int) -> bool:
    """Whether parsed JSON is nested deeper than `levels`; tells it without recursion."""
    level = [value]
    for _ in range(levels):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def digest(value: object) -> str:
    """A SHA-256 of a plain value, the same for every order of its keys. Raises: NotPlain."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: object, path: str = "value") -> str:
    """The text of a plain value, the same for every order of its keys. Raises: NotPlain."""
    if _native(value, DEPTH):
        try:
            return _write_sorted(value)
        except ValueError:
            return _write_sorted(_tagged(value, path, DEPTH))
    return _write_sorted(_ordered(_tagged(value, path, DEPTH)))


def _ordered(tagged: Any) -> Any:
    """The tagged value with the pairs of its tagged dicts in the order of their keys."""
    if type(tagged) is list:
        return [_ordered(item) for item in tagged]
    if type(tagged) is not dict:
        return tagged
    if tagged.get("$") == "dict":
        pairs = [[key, _ordered(item)] for key, item in tagged["v"]]
        return {"$": "dict", "v": sorted(pairs, key=lambda pair: str(pair[0]))}
    return {key: _ordered(item) for key, item in tagged.items()}


def _native(value: Any, depth: int) -> bool:
    """Whether every writer of JSON writes the value exactly. The hot path: most values are."""
    kind = type(value)
    if kind in _SURE:
        return True
    if kind is int:
        return bool(-WIDE < value < WIDE)
    if kind is float:
        return bool(value - value == 0)  # neither infinite nor nan
    if depth == 0:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or key == "$":
                return False
            if type(item) not in _SURE and not _native(item, depth - 1):
                return False
        return True
    if kind is list:
        for item in value:
            if type(item) not in _SURE and not _native(item, depth - 1):
                return False
        return True
    return False


def _tagged(value: Any, path: str, depth: int) -> Any:
    """The value with everything that JSON lacks as tags. Raises: NotPlain, by path."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return _whole(value, path)
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise NotPlain(f"{path} is {value!r}, which JSON cannot hold; use None or a text", path=path)
        return value
    if depth == 0:
        raise NotPlain(f"{path} is nested more than {DEPTH} levels deep, or contains itself; flatten it", path=path)
    if kind is dict:
        return _tagged_dict(value, path, depth)
    if kind is list:
        return [_tagged(item, f"{path}[{index}]", depth - 1) for index, item in enumerate(value)]
    if kind is tuple:
        return {"$": "tuple", "v": [_tagged(item, f"{path}[{index}]", depth - 1) for index, item in enumerate(value)]}
    if kind is set:
        items = [_tagged(item, f"{path}{{…}}", depth - 1) for item in value]
        return {"$": "set", "v": sorted(items, key=_write_sorted)}
    if kind is dt.datetime:
        return {"$": "datetime", "v": _moment(value, path)}
    if kind in _TO_TEXT:
        return {"$": _TO_TEXT[kind][0], "v": _TO_TEXT[kind][1](value)}
    raise NotPlain(_advice(value, path), path=path, found=kind.__qualname__)


def _whole(value: int, path: str) -> int:
    try:
        str(value)
    except ValueError:
        raise NotPlain(
            f"{path} is a whole number of more digits than Python writes as text; store it as bytes", path=path
        ) from None
    return value


def _tagged_dict(value: dict[Any, Any], path: str, depth: int) -> Any:
    for key in value:
        if type(key) is not str:
            raise NotPlain(
                f"{path} has the key {key!r} of type {type(key).__name__}, and only text can be a key; "
                f"use str({key!r})",
                path=path,
            )
    plain = {key: _tagged(item, f"{path}.{key}", depth - 1) for key, item in value.items()}
    return {"$": "dict", "v": [[key, item] for key, item in plain.items()]} if "$" in plain else plain


def _advice(value: object, path: str) -> str:
    kind = type(value)
    name = kind.__qualname__
    if isinstance(value, (dict, list, str, int, float, tuple, set, bytes)) and not hasattr(kind, "__members__"):
        plain = next(base for base in kind.__mro__ if base in _SCALARS or base in (dict, list, tuple, set, bytes))
        return f"{path} is a {name}, which would come back as a {plain.__name__}; pass {plain.__name__}(…) of it"
    if hasattr(kind, "model_fields") or hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__members__"):
        return (
            f"{path} is a {name}, and nothing declares that type to restore it; "
            f"give returns={name} to the step, annotate what the function returns, or pass plain data"
        )
    return f"{path} is a {name}, and only plain data can be stored; pass dict, list, text, numbers, dates or bytes"


def _seconds(value: dt.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


SECOND = " again"
"""What follows a time that the clocks showed for the second time that night."""

_TO_TEXT: dict[type, tuple[str, Callable[[Any], Any]]] = {
    dt.date: ("date", dt.date.isoformat),
    dt.timedelta: ("timedelta", _seconds),
    Decimal: ("decimal", str),
    uuid.UUID: ("uuid", str),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
}

_FROM_TAG: dict[str, Callable[[Any], Any]] = {
    "datetime": lambda text: _datetime(text),
    "date": dt.date.fromisoformat,
    "timedelta": lambda parts: dt.timedelta(*parts),
    "decimal": Decimal,
    "uuid": uuid.UUID,
    "bytes": base64.b64decode,
    "tuple": tuple,
    "set": set,
    "dict": dict,
    "typed": lambda value: value,
}


def _moment(value: dt.datetime, path: str) -> str:
    """The text of a time as RFC 9557 writes it: its zone is named behind its offset. Raises: NotPlain."""
    zone, name = value.tzinfo, ""
    if type(zone) is zoneinfo.ZoneInfo and zone.key:
        name = f"[{zone.key}]"
    elif zone is not None and zone.utcoffset(None) is None:
        found = type(zone).__name__
        raise NotPlain(
            f"{path} is a time in {found}, a zone that cannot come back; use zoneinfo.ZoneInfo or UTC",
            path=path,
            found=found,
        )
    return value.isoformat() + name + (SECOND if value.fold else "")


def _datetime(text: str) -> dt.datetime:
    fold = text.endswith(SECOND)
    moment, _, zone = text.removesuffix(SECOND).partition("[")
    value = dt.datetime.fromisoformat(moment)
    if zone:
        if zone[-1] != "]" or zone[:-1] not in _zones():  # of names that are no zone, no file is looked for
            raise ValueError(f"there is no time zone {zone[:-1]!r} here")
        value = value.replace(tzinfo=zoneinfo.ZoneInfo(zone[:-1]))
    return value.replace(fold=1) if fold else value


@lru_cache(maxsize=1)
def _zones() -> set[str]:
    return zoneinfo.available_timezones()


def _untag(value: dict[str, Any]) -> Any:
    tag = value.get("$")
    if tag is None:
        return value
    if type(tag) is not str or tag not in _FROM_TAG:
        raise BadInput(f"the stored tag {tag!r} is not one this version knows; it was written by a newer one")
    try:
        return _FROM_TAG[tag](value["v"])
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise BadInput(
            f"the stored {tag} {value.get('v')!r} cannot be read: {error}; the row was changed by hand"
        ) from None


_read_tagged = json.JSONDecoder(object_hook=_untag).decode


class Shape:
    """A declared type that restores what the text of a value lost: models, dataclasses, Enums, containers of them."""

    __slots__ = ("_adapter", "annotation", "strict")

    def __init__(self, annotation: Any, *, strict: bool) -> None:
        self.annotation = annotation
        self.strict = strict
        self._adapter: TypeAdapter[Any] | None = None

    def encode(self, value: object, path: str = "value") -> str:
        """The text of a value of this type. Raises: NotPlain when it would not come back equal."""
        refused: NotPlain | None = None
        if not self.strict:
            try:
                return encode(value, path)
            except NotPlain as error:
                if self.annotation is None:
                    raise
                refused = error
        try:
            adapter = self.adapter()
            plain = adapter.dump_python(value, mode="json", warnings="error")
            text = _write({"$": "typed", "v": _tagged(plain, path, DEPTH)})
            same = self.decode(text) == value
        except NotPlain:
            raise
        except Exception as error:
            if refused is not None and refused.path != path:  # it names the place inside the value
                raise refused from error
            raise NotPlain(
                f"{path} is a {type(value).__qualname__} and does not fit {self.annotation!r}: {error}", path=path
            ) from error
        if not same:
            raise NotPlain(
                f"{path} is a {type(value).__qualname__} that would not come back equal from {self.annotation!r}; "
                "pass plain data",
                path=path,
            )
        return text

    def decode(self, text: str) -> Any:
        """The value, restored to its type when the text says that it has one."""
        if text.startswith('{"$":"typed"') and self.annotation is not None:
            return self.adapter().validate_json(json.dumps(json.loads(text)["v"]))
        return decode(text)

    def as_stored(self, value: object, text: str) -> Any:
        """`decode(text)`, where `text` is what `encode(value)` gave: a scalar without a declared type is itself."""
        return value if type(value) in _EXACT and self.annotation is None else self.decode(text)

    def adapter(self) -> TypeAdapter[Any]:
        """The validator of the type, made at first use."""
        if self._adapter is None:
            from pydantic import TypeAdapter

            self._adapter = TypeAdapter(self.annotation)
        return self._adapter


PLAIN = Shape(None, strict=False)
"""The shape of values without a declared type."""

_NO_TYPE = (None, type(None), Any, object, typing.TypeVar)
_UNTYPED = _SCALARS | {dict, list, tuple, set, bytes}


@lru_cache(maxsize=1024)
def _shape(annotation: object, strict: bool) -> Shape:
    return Shape(annotation, strict=strict)


def shape_of(annotation: object, *, strict: bool = False) -> Shape:
    """The shape for an annotation; `PLAIN` for none. `strict` always goes through the type, also for plain values."""
    if annotation in _NO_TYPE or isinstance(annotation, (str, typing.TypeVar)):
        return PLAIN
    if isinstance(annotation, type) and annotation in _UNTYPED:
        return PLAIN
    try:
        return _shape(annotation, strict)
    except TypeError:  # an annotation that cannot be hashed
        return Shape(annotation, strict=strict)
