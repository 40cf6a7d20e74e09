"""Arguments found in text: how the offline model fills a tool's parameters from what a person wrote.

- Only what stands in the text is used; nothing is made up. A required parameter that is not there is named as missing.
- An optional parameter stays out unless the text plainly has it (its pattern, one of its values, its name, "because
  …").
- A piece of the text fills one parameter only.

Knows JSON schema, and nothing of models or tools.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Found", "asks_for_plain", "find_arguments", "words"]

QUOTED = r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)"
_NUMBER = r"(?<![\w.\-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w\-]|\.\d)"
_FORMATS = {
    "date": r"\d{4}-\d{2}-\d{2}",
    "date-time": r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?",
    "time": r"\d{1,2}:\d{2}(?::\d{2})?",
    "email": r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "uri": r"https?://[^\s\"'<>]+[^\s\"'<>.,;!?)]",
}
_REASONS = {"reason", "why", "cause", "because", "note", "comment", "explanation"}
_ADDRESSEES = {"to", "recipient", "addresse"}
_LEADS = {
    "in": ("city", "place", "location", "country", "region", "language", "where"),
    "at": ("place", "location", "address", "time"),
    "about": ("topic", "subject", "about", "query"),
    "on": ("topic", "subject", "date", "day"),
    "for": ("query", "city", "customer", "person", "user", "purpose"),
    "to": ("to", "recipient", "email", "address", "city", "destination", "customer"),
    "from": ("source", "origin", "sender"),
    "of": ("city", "name"),
    "named": ("name", "title"),
    "called": ("name", "title"),
    "with": ("body", "text", "message", "content"),
    "into": ("language", "target"),
}
_LEAD = r"\b(?:" + "|".join(_LEADS) + r")\b"


class Found:
    """What a text gave: the arguments, and the required parameters that it has nothing for."""

    __slots__ = ("args", "missing")

    def __init__(self) -> None:
        self.args: dict[str, Any] = {}
        self.missing: list[str] = []


def words(text: str) -> list[str]:
    """The words of a text or of a name (`lookup_order`, `lookupOrder`), lower case, without their endings."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [_stem(word) for word in re.findall(r"[^\W_]+", spaced.lower())]


def find_arguments(
    schema: Mapping[str, Any], clause: str, elsewhere: Sequence[str], skip: Iterable[str]
) -> list[Found]:
    """The arguments that a clause gives for an object schema; several for "A-1 and A-2".

    `elsewhere` holds other texts, nearest first, where an identifier may stand that the clause only points to; `skip`
    are words that name the tool, which are no value of a parameter.
    """
    found = [_filled(schema, schema, _Text(clause), elsewhere, set(skip))]
    for name, each in _several(schema, clause):
        if name in found[0].args:
            found = [_with(found[0], name, value) for value in each]
            break
    return found


class _Text:
    """A text whose pieces are taken once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._used: list[tuple[int, int]] = []

    def take(self, pattern: str, group: int | None = None, flags: int = re.IGNORECASE) -> str | None:
        for match in re.finditer(pattern, self.text, flags):
            if not any(match.start() < end and start < match.end() for start, end in self._used):
                self._used.append(match.span())
                return (
                    next((part for part in match.groups() if part), match.group())
                    if group is None
                    else match.group(group)
                )
        return None

    def rest(self) -> str:
        kept = list(self.text)
        for start, end in self._used:
            kept[start:end] = " " * (end - start)
        return re.sub(r"\s+", " ", "".join(kept)).strip()


def _filled(
    schema: Mapping[str, Any], root: Mapping[str, Any], text: _Text, elsewhere: Sequence[str], skip: set[str]
) -> Found:
    found = Found()
    required = set(schema.get("required", ()))
    properties = {name: _plain(part, root) for name, part in schema.get("properties", {}).items()}
    order = sorted(properties, key=lambda name: (_is_free(properties[name]), name not in required))
    values = {name: _exact(name, properties[name], root, text, required=name in required) for name in order}
    wanting = [name for name in order if name in required and values[name] is None]
    free = [name for name in wanting if _is_free(properties[name])]
    for name in wanting:
        values[name] = (
            _free(name, text, skip, alone=len(free) == 1) if name in free else _pointed_to(properties[name], elsewhere)
        )
    found.args = {name: values[name] for name in properties if values[name] is not None}
    found.missing = [name for name in wanting if values[name] is None]
    return found


def _exact(name: str, part: Mapping[str, Any], root: Mapping[str, Any], text: _Text, *, required: bool) -> Any:
    """A value that the schema or the text names plainly, or None."""
    if "enum" in part:
        return _one_of(part["enum"], text)
    match part.get("type"):
        case "string" if pattern := _pattern(name, part):
            return _matching(pattern, text)
        case "string":
            return _named_text(name, text)
        case "integer" | "number" as kind:
            return _number(name, kind, text, required=required)
        case "boolean":
            return _truth(name, text)
        case "array":
            return _list(_plain(part.get("items", {}), root), text)
        case "object" if required and part.get("properties"):
            inner = _filled(part, root, text, (), set())
            return None if inner.missing else inner.args
    return None


def _plain(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references and without "or null"."""
    for _ in range(8):
        if ref := part.get("$ref"):
            part = root.get("$defs", {}).get(ref.rpartition("/")[2], {})
        elif options := part.get("anyOf") or part.get("oneOf"):
            part = next((option for option in options if option.get("type") != "null"), {})
        else:
            break
    return part


def _pattern(name: str, part: Mapping[str, Any]) -> str | None:
    """The regular expression that finds a parameter's values in running text, or None for free text."""
    if pattern := part.get("pattern"):
        bare = re.sub(r"(?<!\\)\$$", "", pattern.removeprefix("^"))
        found = rf"(?<![\w\-])(?:{bare})(?![\w\-])"
        try:
            re.compile(found)
        except re.error:
            return None
        return found
    given = part.get("format")
    if given is None and "email" in words(name):
        given = "email"
    return _FORMATS.get(given or "")


def _is_free(part: Mapping[str, Any]) -> bool:
    return (
        part.get("type") == "string"
        and "enum" not in part
        and "pattern" not in part
        and part.get("format") not in _FORMATS
    )


def _matching(pattern: str, text: _Text) -> str | None:
    """What fits a pattern; as it must be written where the person wrote it in small letters."""
    if exact := text.take(pattern, 0, flags=0):
        return exact
    loose = text.take(pattern, 0)
    return loose.upper() if loose and re.fullmatch(pattern, loose.upper()) else None


def _one_of(values: Sequence[Any], text: _Text) -> Any:
    for value in values:
        spoken = re.escape(str(value)).replace("_", r"[_\s\-]")
        if isinstance(value, str | int) and text.take(rf"(?<![\w\-]){spoken}(?![\w\-])", 0):
            return value
    return None


def _spoken(name: str) -> str:
    return r"[\s_\-]+".join(re.escape(word) for word in re.findall(r"[^\W_]+", name))


def _number(name: str, kind: str, text: _Text, *, required: bool) -> int | float | None:
    last = _spoken(name.split("_")[-1])
    said = text.take(rf"\b{_spoken(name)}\b\s*(?:is|of|to|=|:)?\s*({_NUMBER})", 1)
    said = said or text.take(rf"({_NUMBER})\s+{last}s?\b", 1) or (text.take(_NUMBER, 0) if required else None)
    if said is None:
        return None
    number = float(said.replace(",", ""))
    return int(number) if kind == "integer" and number.is_integer() else number


def _truth(name: str, text: _Text) -> bool | None:
    if text.take(rf"\b(?:no|not|without|don't)\s+{_spoken(name)}\b", 0):
        return False
    return True if text.take(rf"\b{_spoken(name)}\b", 0) else None


def _named_text(name: str, text: _Text) -> str | None:
    if _REASONS & set(words(name)) and (why := text.take(r"\bbecause\s+(?:of\s+)?(.+?)[.!?]*$", 1)):
        return why.strip()
    quoted = text.take(rf"\b{_spoken(name)}\b\s*(?:is|=|:)?\s*(?:{QUOTED})")
    return quoted or text.take(rf"\b{_spoken(name)}\s*[=:]\s*([^,;]+)", 1)


def _list(items: Mapping[str, Any], text: _Text) -> list[Any] | None:
    found: list[Any] = []
    while len(found) < 100:
        if "enum" in items:
            value = _one_of([value for value in items["enum"] if value not in found], text)
        elif items.get("type") in ("integer", "number"):
            value = _number("item", items["type"], text, required=True)
        else:
            pattern = _pattern("item", items)
            value = _matching(pattern, text) if pattern else text.take(QUOTED)
        if value is None:
            break
        found.append(value)
    return found or None


def _pointed_to(part: Mapping[str, Any], elsewhere: Sequence[str]) -> str | None:
    """An identifier that stands nearby: the last one that fits in the nearest text that has one."""
    pattern = part.get("pattern") and _pattern("", part)
    for text in elsewhere if pattern else ():
        if fitting := [match.group() for match in re.finditer(str(pattern), text)]:
            return fitting[-1]
    return None


def _free(name: str, text: _Text, skip: set[str], *, alone: bool) -> str | None:
    """Free text for a required parameter: an address, a quotation, what follows a leading word, the words left over."""
    address = text.take(_FORMATS["email"]) if _ADDRESSEES & set(words(name)) else None
    if said := address or text.take(QUOTED):
        return said
    until = "$" if alone else rf"(?=\s+{_LEAD}|$)"
    suited = [lead for lead, names in _LEADS.items() if set(words(name)) & {_stem(word) for word in names}]
    for lead in suited:
        if said := text.take(rf"\b{lead}\s+(.+?)[\s.,;!?]*{until}", 1):
            return said.strip(" .,;!?")
    if not alone:
        return None
    left = text.rest()
    if _starts_with_question(left) and (led := re.search(rf"{_LEAD}\s+(.+)$", left, re.IGNORECASE)):
        return led.group(1).strip(" .,;!?") or None
    kept = left.strip(" .,;!?").split()
    while kept and (_stem(kept[0].lower().strip(",:")) in skip or kept[0].lower() in _FILLERS):
        kept.pop(0)
    return " ".join(kept) or None


_FILLERS = {
    "please",
    "can",
    "could",
    "would",
    "will",
    "you",
    "i",
    "want",
    "to",
    "me",
    "a",
    "an",
    "that",
    "for",
    "about",
    "up",
}


def _starts_with_question(text: str) -> bool:
    return bool(re.match(r"\s*(what|where|who|when|how|which|is|are)\b", text, re.IGNORECASE))


def _several(schema: Mapping[str, Any], clause: str) -> Iterable[tuple[str, list[str]]]:
    """The one required parameter with a pattern, if the clause has several values for it."""
    patterns = {
        name: pattern
        for name, part in schema.get("properties", {}).items()
        if name in schema.get("required", ()) and part.get("pattern") and (pattern := _pattern(name, part))
    }
    if len(patterns) == 1:
        ((name, pattern),) = patterns.items()
        values = list(dict.fromkeys(match.group() for match in re.finditer(pattern, clause)))
        if len(values) > 1:
            yield name, values


def asks_for_plain(schema: Mapping[str, Any]) -> bool:
    """Whether a schema requires something that running text shows plainly: a pattern, a format, one of some values."""
    parts = [_plain(schema.get("properties", {}).get(name, {}), schema) for name in schema.get("required", ())]
    return any("enum" in part or _pattern("", part) for part in parts)


def _with(found: Found, name: str, value: str) -> Found:
    other = Found()
    other.args, other.missing = {**found.args, name: value}, list(found.missing)
    return other


def _stem(word: str) -> str:
    """A word without its ending: "cancelled", "cancelling" and "cancels" are "cancel"."""
    for ending in ("ings", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
