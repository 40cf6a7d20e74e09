"""The policy: ordered rules that say of a proposed call whether it may run, waits for a person, or is refused.

- The first rule that applies decides, but a `deny` that applies anywhere beats all; where none applies the tool's own
  `approval` does.
- It fails closed: a rule that cannot be decided (its predicate raises or answers neither True nor False, an argument is
  missing, of another kind, NaN or infinite, or the tool is not known here) asks a person.
- A policy is inert and pure: it reads a proposal and gives a verdict; what is journaled is the gate's business.

Source: AGENTS 3 (Inspect, OpenAI Agents) and 4 (9), DESIGN rule 12, CASES u31, u34.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from workbench.agents.conditions import check, holds, in_words
from workbench.errors import BadInput, Signal
from workbench.given import duration, named, several
from workbench.models.checks import is_finite
from workbench.table import Table
from workbench.words import words_of

if TYPE_CHECKING:
    from workbench.agents.tools import Tool

__all__ = ["Action", "Hints", "Policy", "Proposal", "Rule", "Verdict"]

Action: TypeAlias = Literal["allow", "ask", "deny"]
Predicate: TypeAlias = Callable[[dict[str, Any]], bool]
HINTS = ("read_only", "destructive", "idempotent")


@dataclass(frozen=True, slots=True)
class Hints:
    """What a tool says of itself. What changes data counts as destructive unless its tool says that it is not."""

    read_only: bool
    destructive: bool
    idempotent: bool

    @classmethod
    def of(cls, tool: Tool) -> Hints:
        """The hints of a tool. Source: MCP, ToolAnnotations (destructiveHint is true where nobody said)."""
        return cls(tool.read_only, not tool.read_only and tool.destructive is not False, tool.idempotent)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that was proposed. `args` are those of the model, `values` the checked ones where its tool is here."""

    run: str
    agent: str
    tool: str
    args: Mapping[str, Any]
    values: Mapping[str, Any]
    hints: Hints | None

    @classmethod
    def of(cls, run: str, agent: str, name: str, args: Mapping[str, Any], tool: Tool | None) -> Proposal:
        """A call as a policy sees it. Raises: ToolArgumentsInvalid."""
        values = args if tool is None else tool.validate(args)
        return cls(run, agent, name, args, values, None if tool is None else Hints.of(tool))

    @property
    def finite(self) -> bool:
        """Whether every number of it can be compared."""
        return is_finite(self.args) and is_finite(self.values)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy: `Rule("ask", "refund_*", args={"amount": {"gt": 100}}, reason="large refunds")`.

    `tool` and `agent` are globs. `args` are conditions (`workbench.agents.conditions`), `when` is a function of the
    checked arguments; both hold where both are given. `read_only`, `destructive` and `idempotent` are what the tool
    says of itself. `reason` reaches the person who is asked, and the model that is refused. `expires` is how many
    seconds a question of this rule waits. `id` is made from the rule where none is given.

    Raises: BadInput naming what cannot be.
    """

    action: Action
    tool: str = "*"
    agent: str = field(default="*", kw_only=True)
    args: Mapping[str, Any] | None = field(default=None, kw_only=True)
    when: Predicate | None = field(default=None, kw_only=True)
    read_only: bool | None = field(default=None, kw_only=True)
    destructive: bool | None = field(default=None, kw_only=True)
    idempotent: bool | None = field(default=None, kw_only=True)
    reason: str = field(default="", kw_only=True)
    expires: float | timedelta | None = field(default=None, kw_only=True)
    id: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise BadInput(f"a rule says 'allow', 'ask' or 'deny', found {self.action!r}")
        where = f"the rule {self.action} {self.tool}"
        named(f"{where}: the glob of tools", self.tool)
        named(f"{where}: the glob of agents", self.agent)
        for name in HINTS:
            if not isinstance(getattr(self, name), bool | None):  # 1 is no True: it would hold for no tool
                raise BadInput(f"{where}: {name} is True, False or None for any, found {getattr(self, name)!r}")
        if not isinstance(self.reason, str) or not isinstance(self.id, str):
            raise BadInput(f"{where}: its reason and id are texts, found {self.reason!r} and {self.id!r}")
        if self.when is not None and (not callable(self.when) or inspect.iscoroutinefunction(self.when)):
            raise BadInput(f"{where}: when is a plain function of the arguments, found {self.when!r}")
        if self.expires is not None and self.action != "ask":
            raise BadInput(f"{where}: only a question expires; give expires to a rule that asks")
        set_ = object.__setattr__
        if self.args is not None:
            set_(self, "args", check(f"{where}: args", self.args))
        set_(self, "expires", duration(f"{where}: expires", self.expires))
        set_(self, "id", self.id or f"{self.action}-{self.tool}")

    def speaks_of(self, agent: str, tool: str, hints: Hints | None) -> bool:
        """Whether it could apply to some call of this tool, whatever its arguments; also where that cannot be told."""
        if not (fnmatchcase(tool, self.tool) and fnmatchcase(agent, self.agent)):
            return False
        wanted = [(name, getattr(self, name)) for name in HINTS if getattr(self, name) is not None]
        return hints is None or all(getattr(hints, name) is value for name, value in wanted)

    def applies(self, proposal: Proposal) -> bool:
        """Whether it decides this call. Raises: whatever keeps that from being told."""
        if not self.speaks_of(proposal.agent, proposal.tool, proposal.hints):
            return False
        if proposal.hints is None and any(getattr(self, name) is not None for name in HINTS):
            raise BadInput(f"the tool {proposal.tool!r} is not here to say what it is")
        bare = self.args is None and self.when is None
        if not (proposal.finite or (bare and self.action == "deny")):
            raise BadInput("a number of the arguments is NaN or infinite")
        return (self.args is None or holds(self.args, proposal.values)) and self._says_yes(proposal)

    def _says_yes(self, proposal: Proposal) -> bool:
        if self.when is None:
            return True
        answer: object = self.when(dict(proposal.values))
        if isinstance(answer, bool):
            return answer
        if inspect.iscoroutine(answer):
            answer.close()
        raise BadInput(f"its predicate answered {answer!r:.60}, which is neither True nor False")

    @property
    def sentence(self) -> str:
        """The rule in words: `ask about refund_* from support, where amount gt 100`."""
        verb = {"allow": "approve", "ask": "ask about", "deny": "deny"}[self.action]
        said = f"{verb} {'every tool' if self.tool == '*' else self.tool}"
        said += "" if self.agent == "*" else f" from {self.agent}"
        hints = [name if getattr(self, name) else f"not {name}" for name in HINTS if getattr(self, name) is not None]
        if hints:
            said += f", if {' and '.join(hints).replace('_', ' ')}"
        conditions = [in_words(self.args)] if self.args else []
        conditions += [f"{getattr(self.when, '__qualname__', repr(self.when))} says so"] if self.when else []
        return f"{said}, where {' and '.join(conditions)}" if conditions else said

    def to_plain(self) -> dict[str, Any]:
        """The rule as plain data, without what is not said. Raises: BadInput when it has a predicate, which is code."""
        if self.when is not None:
            raise BadInput(
                f"the rule {self.id!r} has a predicate, which is code and cannot be stored; "
                "say it with args={…}, or give the rule to Workbench.open(…, policy=…)"
            )
        fields = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in fields.items() if value not in (None, "")}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Rule:
        """The rule that `to_plain` gave. Raises: BadInput."""
        if not isinstance(plain, Mapping) or "action" not in plain:
            raise BadInput(f"a rule is a table with an action, found {plain!r:.80}")
        if unknown := sorted(set(map(str, plain)) - set(FIELDS)):
            raise BadInput(f"a rule has no {', '.join(unknown)}; it may have {', '.join(FIELDS)}")
        return cls(**plain)


FIELDS = ("action", "tool", "agent", "args", *HINTS, "reason", "expires", "id")
"""What a rule may say as plain data, in a file too."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a call: the rule that decided, and why a person is asked."""

    action: Action
    rule: Rule
    why: str


class Policy:
    """Ordered rules. `Policy([Rule("allow", read_only=True), Rule("ask", "refund_*")])`. Two of one id get numbers."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        given, taken = [], set()
        for rule in several("the rules of a policy", rules, "[Rule('ask', 'refund_*')]"):
            if not isinstance(rule, Rule):
                raise BadInput(f"a policy is made of rules, found {rule!r}; write Rule('ask', 'refund_*')")
            id, number = rule.id, 2
            while id in taken:
                id, number = f"{rule.id}-{number}", number + 1
            taken.add(id)
            given.append(rule if id == rule.id else replace(rule, id=id))
        self.rules = tuple(given)

    def speaks_of(self, agent: str, tool: str, hints: Hints | None) -> bool:
        """Whether some rule could apply to a call of this tool."""
        return any(rule.speaks_of(agent, tool, hints) for rule in self.rules)

    def decide(self, proposal: Proposal) -> Verdict | None:
        """The verdict on a call, or None where no rule applies. Never raises for what a rule does."""
        found: Verdict | None = None
        doubt: Verdict | None = None
        for rule in self.rules:
            try:
                applies = rule.applies(proposal)
            except (KeyboardInterrupt, Signal):
                raise
            except BaseException as error:  # fails closed, whatever it is: DESIGN rule 12
                said = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {words_of(error)}"
                asks = Verdict("ask", rule, f"The rule {rule.id} cannot be decided: {said}.")
                if rule.action == "deny":
                    doubt = doubt or asks
                found = found or asks
                continue
            if applies and rule.action == "deny":
                return Verdict("deny", rule, rule.reason)
            if applies and found is None:
                found = Verdict(rule.action, rule, rule.reason)
        return doubt or found

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        rows = [{"id": rule.id, "rule": rule.sentence, "reason": rule.reason} for rule in self.rules]
        return Table(rows, columns=("id", "rule", "reason"))
