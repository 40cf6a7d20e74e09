"""The account: what one budget has left, who spent what, and who waits for more. The state of its process.

- Every change is a function of the state and a message, so the process needs no steps, and a message that is asked
  again under its id is answered from the journal.
- What is asked for is taken at once or not at all. Who is refused may wait: its call stays open until it fits, those
  who came first go first.
- What was used without being asked for (the tokens of a turn) is written down whatever the limits say.
- What a model call took and nobody knows, no price or no reported tokens, is counted as that. Under a limit of it the
  next call stops, until somebody says that such calls are all right; it is never taken for nothing.

Knows nothing of processes, runs or the journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.budget import UNITS, Amounts, count_of, name_of, told

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_much_again", "blank", "extended", "limited", "named", "refusal", "spent", "take", "withdraw"]

State = dict[str, Any]
AGENTS = 200
"""Agents whose spending is kept apart; that of further ones is summed up."""


def blank(of: str) -> State:
    """An account that limits nothing yet. `of` is "bench" or the key of the run whose tree it governs."""
    return {
        "of": of,
        "opening": None,
        "limits": {},
        "spent": dict.fromkeys(UNITS, 0),
        "left": {},
        "uncounted": {},
        "uncounted_allowed": False,
        "refused": 0,
        "extensions": 0,
        "by": {},
        "waiting": [],
    }


def named(of: str) -> str:
    """How people call what an account is of: the bench, or run 'r1'."""
    kind, _, id = of.partition(":")
    return f"{kind} {id!r}" if id else f"the {kind}"


def limited(state: State, limits: Amounts | None) -> State:
    """The account under these limits, whatever it was under before; what is spent stays spent. None limits nothing."""
    return _summed({**state, "opening": dict(limits or {}), "limits": dict(limits or {})})


def _left_of(state: State) -> Amounts:
    """What is left of each limit; nothing is less than nothing."""
    return {unit: max(0, round(limit - state["spent"][unit], 6)) for unit, limit in state["limits"].items()}


def refusal(state: State, asked: Amounts, needs: list[str], agent: str) -> dict[str, Any] | None:
    """Why `asked` cannot be taken while something of all `needs` has to be left; None when it can."""
    for unit, limit in state["limits"].items():
        spent, amount = state["spent"][unit], asked.get(unit, 0)
        if amount and spent + amount > limit:
            return _refused(state, unit, amount, agent)
        if unit in needs and spent >= limit:
            return _refused(state, unit, 0, agent)
    uncounted = next((unit for unit in _uncounted(state) if unit in needs), None)
    return None if uncounted is None else _refused(state, uncounted, 0, agent, uncounted=True)


def _uncounted(state: State) -> list[str]:
    """The limited units of which calls took nobody knows how much, unless somebody said that this is all right."""
    return [] if state["uncounted_allowed"] else [unit for unit in state["limits"] if state["uncounted"].get(unit)]


def _refused(state: State, unit: str, asked: float, agent: str, *, uncounted: bool = False) -> dict[str, Any]:
    limit, spent = state["limits"][unit], state["spent"][unit]
    left = max(0, round(limit - spent, 6))
    amounts = {"limit": limit, "spent": spent, "asked": asked, "left": left}
    words = _of_what_nobody_knows(state, unit) if uncounted else _of_too_little(state["of"], unit, agent, **amounts)
    return {"of": state["of"], "unit": unit, **amounts, "uncounted": uncounted, "words": words}


def _of_what_nobody_knows(state: State, unit: str) -> str:
    calls, has = state["uncounted"][unit], "known price" if unit == "microdollars" else f"reported {name_of(unit)}"
    one, it = ("a model call", "it") if calls == 1 else (f"{calls:,} model calls", "them")
    limit = told(unit, state["limits"][unit])
    return f"{one} of {named(state['of'])} had no {has}, so its budget of {limit} cannot count {it}"


def _of_too_little(of: str, unit: str, agent: str, *, limit: float, spent: float, asked: float, left: float) -> str:
    if left == 0:
        asks = f", and {agent} asks for {count_of(unit, asked)}" if asked > 1 else ""
        return f"the budget of {named(of)} is used up, {count_of(unit, spent)} of {told(unit, limit)}{asks}"
    are = "is" if left == 1 else "are"
    asks = f"{agent} asks for {count_of(unit, asked)} and {count_of(unit, left)} {are} left"
    return f"the budget of {named(of)} is {told(unit, limit)}, {asks}"


def take(state: State, asked: Amounts, needs: list[str], agent: str) -> tuple[State, dict[str, Any]]:
    """The account after somebody asked, and the answer: granted, or refused with the reason."""
    reason = refusal(state, asked, needs, agent)
    if reason is not None:
        return {**state, "refused": state["refused"] + 1}, {"granted": False, "refused": reason}
    after = spent(state, asked, agent)
    return after, {"granted": True, "left": after["left"]}


def spent(state: State, amounts: Amounts, agent: str, unknown: Sequence[str] = ()) -> State:
    """The account after this was used, be it too much; negative amounts come back. Of `unknown` units nobody knows."""
    by = dict(state["by"])
    who = agent if agent in by or len(by) < AGENTS else "others"
    by[who] = _sum(by.get(who, {}), amounts)
    uncounted = _sum(state["uncounted"], dict.fromkeys(unknown, 1))
    return _summed({**state, "spent": _sum(state["spent"], amounts), "by": by, "uncounted": uncounted})


def _sum(before: Amounts, amounts: Amounts) -> Amounts:
    return {**before, **{unit: round(before.get(unit, 0) + amount, 6) for unit, amount in amounts.items() if amount}}


def _summed(state: State) -> State:
    return {**state, "left": _left_of(state)}


def extended(state: State, amounts: Amounts, *, uncounted: bool = False) -> tuple[State, dict[str, Any]]:
    """The account with more of what it limits, and by how much; `uncounted` lets go on what cannot be counted."""
    more = {unit: amount for unit, amount in amounts.items() if unit in state["limits"]}
    limits = {unit: round(limit + more.get(unit, 0), 6) for unit, limit in state["limits"].items()}
    allowed = state["uncounted_allowed"] or uncounted
    after = {**state, "limits": limits, "uncounted_allowed": allowed, "extensions": state["extensions"] + 1}
    return _summed(after), {"extended": more, "left": _left_of(after)}


def as_much_again(state: State) -> tuple[Amounts, bool]:
    """What an extension without amounts adds, and whether it lets go on what cannot be counted.

    It is the opening limit once more, of what is used up or keeps somebody waiting; of everything when nothing does.
    """
    more: Amounts = {}
    for unit, limit in state["limits"].items():
        asked = max((waits["asked"].get(unit, 0) for waits in state["waiting"]), default=0)
        lacking = state["spent"][unit] + max(asked, 1) - limit
        if state["spent"][unit] >= limit or (asked and lacking > 0):
            more[unit] = max(state["opening"].get(unit, limit), lacking)
    uncounted = bool(_uncounted(state))
    return (more, uncounted) if more or uncounted else (dict(state["opening"]), False)


def withdraw(state: State, run: str) -> tuple[State, list[str]]:
    """The account without those of a run who wait, and the ids of their calls."""
    gone = [waits["id"] for waits in state["waiting"] if waits["run"] == run]
    return {**state, "waiting": [waits for waits in state["waiting"] if waits["run"] != run]}, gone
