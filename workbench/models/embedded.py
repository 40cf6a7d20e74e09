"""The offline model: deterministic, without key or network, so that every notebook runs on a fresh machine.

- It matches the words of the latest request with the names, descriptions and parameters of the tools, fills arguments
  from the text, and says what the results were. It never pretends to reason: what it cannot match, it says.
- One round of calls, then the answer: it cannot loop. An answer that has a type is filled from the results, or from the
  request, by the names of its parts.
- A tool that changes something is called only when its verb is asked for: not in a question, not after "do not".

Knows nothing of how tools run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.models.arguments import QUOTED, Found, asks_for_plain, find_arguments, words
from workbench.models.messages import Call, ToolResult, results_of, turns_in, unique_ids, user_text
from workbench.models.speech import note, said, say

if TYPE_CHECKING:
    from workbench.models.model import Request, ToolSpec, Turn

__all__ = ["Offline", "offline"]

_LONGEST = 400  # characters of one result in an answer
_READING = (
    "lookup look get find list show search read fetch check describe query count view track return give tell report"
)
_READERS = frozenset(words(_READING))
_SYNONYMS = {
    "add": "plus sum total",
    "sum": "plus add total",
    "multiply": "times product",
    "subtract": "minus",
    "divide": "divided",
    "refund": "reimburse money",
    "delete": "remove erase",
    "remove": "delete",
    "create": "make open new",
    "send": "email mail write",
    "cancel": "abort",
}
_ALIKE = {words(verb)[0]: frozenset(words(others)) for verb, others in _SYNONYMS.items()}
_STOP = frozenset(
    words("a an the of to for and or in on at by with from is are was be it its this that my me i you your please")
)
_POLITE = (
    r"^\s*(?:(?:please|kindly|hi|hello|hey|(?:can|could|would|will) you|i (?:want|would like) to|i'd like to)\b[\s,]*)+"
)
_QUESTION = r"^\s*(?:where|what|which|who|when|how|why|is|are|was|were|do|does|did|has|have)\b"
_ASKING = rf"{_QUESTION}|^\s*(?:show|tell|find|look|check|see|list|track)\b"
_NEGATION = r"\b(?:do not|don't|dont|never|must not|should not|shouldn't|rather not)\b"
_JOINT = r"[.;!?\n]+(?:\s+|$)|,?\s+(?:and then|and also|and|then|also|but)\s+|,\s+"


def offline(*, log: str | os.PathLike[str] | None = None, delay: float = 0.0) -> Offline:
    """The model behind "offline".

    `log` is a file that gets a line per ask; `delay` is the time in seconds between two words.
    """
    return Offline(Path(log) if log else None, delay)


class Offline:
    """The embedded default model."""

    name = "offline"

    def __init__(self, log: Path | None = None, delay: float = 0.0) -> None:
        self._log = log
        self._delay = delay

    def __repr__(self) -> str:
        return "<model offline>"

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        note(self._log, turns_in(request.history))
        parts = _reply(request)
        for part in parts:
            if isinstance(part, str):
                await say(part, on_text, self._delay)
        return said(parts, request, model=self.name)


def _reply(request: Request) -> list[str | Call]:
    spoken = [text for message in request.history if (text := user_text(message)) is not None]
    results = _latest_results(request.history)
    if results and request.output is not None and (given := _given(request.output, results)):
        return _calls([(request.output, given)], request)
    if results:
        return [" ".join(_told(result) for result in results)]
    if not spoken:
        return [_abilities(request.tools)]
    wanted = _wanted(spoken[-1], spoken[-2::-1], request.tools)
    ready = [(tool, found.args) for tool, found in wanted if not found.missing]
    if not ready and request.output is not None:  # what is asked for may stand in the request itself
        [found, *_] = find_arguments(request.output.parameters, spoken[-1], spoken[-2::-1], ())
        ready = [(request.output, found.args)] if found.args and not found.missing else []
    if not ready:
        return [_lacking(wanted, request.tools)]
    return _calls(ready, request)


def _calls(ready: Sequence[tuple[ToolSpec, dict[str, Any]]], request: Request) -> list[str | Call]:
    ids = unique_ids([None] * len(ready), request.history)
    return [
        Call(id, tool.name, args, json.dumps(args, ensure_ascii=False), None)
        for id, (tool, args) in zip(ids, ready, strict=True)
    ]


def _given(output: ToolSpec, results: Sequence[ToolResult]) -> dict[str, Any] | None:
    """The answer of the wanted shape that the results hold, by the names of its parts; None when they lack one."""
    properties = output.parameters.get("properties", {})
    told = [result.content for result in results if result.outcome == "success"]
    args = {name: value for each in told if isinstance(each, Mapping) for name, value in each.items()}
    args = {name: value for name, value in args.items() if name in properties}
    if len(properties) == 1 and len(told) == 1 and not args:  # a bare value is its only argument
        args = dict.fromkeys(properties, told[0])
    return args if args and set(output.parameters.get("required", ())) <= args.keys() else None


def _latest_results(history: Sequence[Mapping[str, Any]]) -> list[ToolResult]:
    """The results that came after the latest thing a person said."""
    results: list[ToolResult] = []
    for message in history:
        if user_text(message) is not None:
            results = []
        results += results_of(message)
    return results


def _wanted(text: str, earlier: Sequence[str], tools: Sequence[ToolSpec]) -> list[tuple[ToolSpec, Found]]:
    """The tools that a request asks for, in its order, each with what it says of their arguments."""
    wanted: list[tuple[ToolSpec, Found]] = []
    for start, end, tool in _asked(text, tools):
        elsewhere = [text[:start], text[end:], *earlier]
        skip = {*words(tool.name), *_verbs(tool)}
        for found in find_arguments(tool.parameters, text[start:end], elsewhere, skip):
            if all(tool is not other or found.args != same.args for other, same in wanted):
                wanted.append((tool, found))
    return wanted


def _asked(text: str, tools: Sequence[ToolSpec]) -> list[tuple[int, int, ToolSpec]]:
    """Stretches of the text with the tool each asks for; a part that asks for nothing belongs to the one before it."""
    asked: list[tuple[int, int, ToolSpec]] = []
    for start, end in _clauses(text):
        clause = text[start:end]
        if re.search(_NEGATION, clause, re.IGNORECASE):
            continue
        tool = _best(clause, tools)
        if tool is not None and (not asked or asked[-1][2] is not tool or re.search(r"\d", clause)):
            asked.append((start, end, tool))
        elif asked:
            asked[-1] = (asked[-1][0], end, asked[-1][2])
    return asked


def _clauses(text: str) -> list[tuple[int, int]]:
    """Where the parts of a text begin and end; what is quoted is not taken apart."""
    clauses, start = [], 0
    for match in re.finditer(f"{QUOTED}|(?P<joint>{_JOINT})", text, re.IGNORECASE):
        if match["joint"]:
            clauses.append((start, match.start()))
            start = match.end()
    return [(begin, end) for begin, end in [*clauses, (start, len(text))] if text[begin:end].strip()]


def _best(clause: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool whose words a clause has most of, among those that it asks for; the first of equals."""
    scores = [(_score(clause, tool, tools), -place) for place, tool in enumerate(tools)]
    score, place = max(scores, default=(0, 0))
    return tools[-place] if score > 0 else None


def _score(clause: str, tool: ToolSpec, tools: Sequence[ToolSpec]) -> int:
    """How well a tool fits a clause; 0 when the clause does not ask for it."""
    if re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", clause):
        return 100
    bare = re.sub(_POLITE, "", clause, flags=re.IGNORECASE)
    text, name = set(words(bare)), words(tool.name)
    asking, reads = bool(re.match(_ASKING, bare, re.IGNORECASE)), _reads(tool)
    verb = bool(_verbs(tool) & text)
    nouns = set(name[1:]) & text
    described = (set(words(tool.description)) - set(name) - _STOP) & text
    begun = _begins_with_own_word(bare, tool, tools)
    acts = (verb or begun) if not re.match(_QUESTION, bare, re.IGNORECASE) else (verb and _is_question_word_free(tool))
    fits = asks_for_plain(tool.parameters) and _is_filled(clause, tool)
    looks = reads and bool(verb or nouns or (asking and (described or fits)))
    if not (acts or looks):
        return 0
    return 6 * (verb or begun) + 2 * len(nouns) + min(len(described), 3) + 4 * (reads and asking) + 2 * fits


def _verbs(tool: ToolSpec) -> set[str]:
    """What a person says to ask for a tool: the first word of its name, words like it, the first of its description."""
    first = words(tool.name)[0]
    return {first, *_ALIKE.get(first, ()), *words(tool.description)[:1]} - _STOP


def _reads(tool: ToolSpec) -> bool:
    """Whether a tool says of itself, by its first words, that it only looks."""
    return bool(_READERS & {words(tool.name)[0], *words(tool.description)[:1]})


def _is_question_word_free(tool: ToolSpec) -> bool:
    """Whether a question may ask for a tool: one that looks, or one that works something out from numbers alone."""
    properties = tool.parameters.get("properties", {}).values()
    return _reads(tool) or (bool(properties) and all(part.get("type") in ("integer", "number") for part in properties))


def _begins_with_own_word(clause: str, tool: ToolSpec, tools: Sequence[ToolSpec]) -> bool:
    """Whether a clause begins with a word that only this tool has in its name, and that is none of its parameters'."""
    first = next(iter(words(clause)), "")
    parameters = {word for name in tool.parameters.get("properties", {}) for word in words(name)}
    return (
        first in words(tool.name)
        and first not in parameters
        and sum(first in words(other.name) for other in tools) == 1
    )


def _is_filled(clause: str, tool: ToolSpec) -> bool:
    return any(not found.missing for found in find_arguments(tool.parameters, clause, (), words(tool.name)))


def _abilities(tools: Sequence[ToolSpec]) -> str:
    if not tools:
        return "I am the offline model: I pick tools by the words of a request, and I was given none."
    can = [f"{tool.name} ({_summary(tool)})" if _summary(tool) else tool.name for tool in tools]
    return f"I pick tools by the words of a request; I can use {_listed(can)}."


def _summary(tool: ToolSpec) -> str:
    return _lowered(re.split(r"(?<=[.!?])\s|\n", tool.description.strip(), maxsplit=1)[0].rstrip("."))


def _lacking(wanted: Sequence[tuple[ToolSpec, Found]], tools: Sequence[ToolSpec]) -> str:
    if not wanted:
        return _abilities(tools)
    needs = [
        f"{tool.name} needs {_listed([_described(tool, name) for name in found.missing])}" for tool, found in wanted
    ]
    return f"{_listed(needs)}, which the request does not say."


def _described(tool: ToolSpec, name: str) -> str:
    description = tool.parameters["properties"][name].get("description", "").rstrip(".")
    return f"{name} ({_lowered(description)})" if description else name


def _told(result: ToolResult) -> str:
    """One sentence on what came of a call, and what a person had to do with it."""
    content, note = result.content, ""
    if isinstance(content, Mapping) and set(content) == {"result", "note"}:
        content, note = content["result"], f" {content['note']}"
    said = _rendered(content)
    match result.outcome:
        case "success" if isinstance(content, str) and said:
            return _sentence(said) + note
        case "success":
            return _sentence(f"{result.tool} gave {said}" if said else f"{result.tool} is done") + note
        case "denied":
            return _sentence(f"{result.tool} was not run: {_lowered(said) or 'a person declined this call'}")
        case "interrupted":
            return _sentence(
                f"{result.tool}: {_lowered(said) or 'it was interrupted and may or may not have happened'}"
            )
        case _:
            return _sentence(f"{result.tool} failed: {said}" if said else f"{result.tool} failed")


def _rendered(content: Any) -> str:
    match content:
        case None:
            text = ""
        case bool():
            text = "yes" if content else "no"
        case str():
            text = content.strip()
        case Mapping():
            text = ", ".join(f"{key.replace('_', ' ')} {_rendered(value) or 'none'}" for key, value in content.items())
        case list():
            text = f"{len(content)} results: " * (len(content) > 1) + "; ".join(_rendered(item) for item in content)
        case _:
            text = str(content)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _sentence(text: str) -> str:
    return text if text[-1] in ".!?…" else text + "."


def _listed(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
