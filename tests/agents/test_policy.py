"""Policies: ordered rules, a deny that beats all, and every doubt a question."""

from __future__ import annotations

import datetime as dt
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from workbench import tool
from workbench.agents.policy import Hints, Policy, Proposal, Rule
from workbench.agents.policy_file import parse_policy, read_policy
from workbench.errors import BadInput
from workbench.models.checks import is_finite

READS = Hints(read_only=True, destructive=False, idempotent=True)
CHANGES = Hints(read_only=False, destructive=True, idempotent=False)


def said(
    policy: Policy, tool: str = "refund_order", agent: str = "support", hints: Hints | None = CHANGES, **args: Any
):
    """What a policy says of a call."""
    verdict = policy.decide(Proposal("r1", agent, tool, args, args, hints))
    return None if verdict is None else verdict.action


def test_the_first_rule_that_applies_decides():
    policy = Policy([Rule("ask", "refund_*", args={"amount": {"gt": 100}}), Rule("allow", "refund_*")])

    assert [said(policy, amount=amount) for amount in (100, 101)] == ["allow", "ask"]
    assert said(policy, "cancel_order", amount=1) is None


def test_a_deny_beats_all_wherever_it_stands():
    policy = Policy([Rule("allow"), Rule("ask", "delete_*"), Rule("deny", "delete_*", args={"table": "users"})])

    assert said(policy, "delete_rows", table="users") == "deny"
    assert said(policy, "delete_rows", table="cache") == "allow"


def test_agents_and_hints_narrow_a_rule():
    policy = Policy(
        [Rule("allow", read_only=True), Rule("deny", agent="intern*", destructive=True), Rule("ask", idempotent=False)]
    )

    assert said(policy, hints=READS) == "allow"
    assert said(policy, agent="intern-1") == "deny"
    assert said(policy) == "ask"


@pytest.mark.parametrize("declared", [None, True])
def test_what_changes_data_may_destroy_it_unless_its_tool_says_not(declared: bool | None):
    class Tool:
        read_only, idempotent, destructive = False, False, declared

    assert Hints.of(Tool).destructive
    Tool.destructive = False
    assert not Hints.of(Tool).destructive


def raises(args: dict[str, Any]) -> bool:
    raise KeyError("amount")


def leaves(args: dict[str, Any]) -> bool:
    raise SystemExit(1)


async def later(args: dict[str, Any]) -> bool:
    return True


DOUBTS = [
    Rule("allow", when=raises),
    Rule("deny", when=raises),
    Rule("allow", when=leaves),
    Rule("deny", when=leaves),
    Rule("allow", when=lambda args: None),
    Rule("allow", when=lambda args: "yes"),
    Rule("allow", when=lambda args: later(args)),
    Rule("allow", args={"missing": 1}),
    Rule("allow", args={"note": {"gt": 1}}),
    Rule("allow", args={"amount": {"glob": "1*"}}),
    Rule("allow", args={"flag": {"gt": 0}}),
    Rule("allow", args={"flag": {"eq": 1}}),
    Rule("allow", args={"amount": {"in": ["10"]}}),
    Rule("allow", args={"note": {"inside": {"eq": 1}}}),
]


@pytest.mark.parametrize("rule", DOUBTS, ids=lambda rule: rule.sentence)
def test_a_rule_that_cannot_be_decided_asks_and_says_why(rule: Rule):
    proposal = Proposal("r1", "a", "t", args := {"amount": 10, "note": "x", "flag": True}, args, CHANGES)

    verdict = Policy([rule]).decide(proposal)

    assert verdict is not None
    assert (verdict.action, verdict.rule) == ("ask", rule)
    assert verdict.why.startswith(f"The rule {rule.id} cannot be decided: ")


def test_a_doubtful_deny_asks_even_behind_a_rule_that_allows():
    assert said(Policy([Rule("allow"), Rule("deny", args={"amount": {"gt": 100}})]), note="x") == "ask"
    assert said(Policy([Rule("deny", when=raises), Rule("deny")])) == "deny"


def test_a_person_who_interrupts_a_predicate_ends_it():
    def interrupted(args: dict[str, Any]) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        said(Policy([Rule("deny", when=interrupted)]))


def test_a_doubt_behind_the_rule_that_decides_changes_nothing():
    assert said(Policy([Rule("allow"), Rule("ask", when=raises)])) == "allow"


@dataclass(slots=True)
class Slotted:
    amount: float


class Kept(Slotted):
    __slots__ = ("__hidden", "note")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]


class Around(BaseModel):
    inner: Slotted


@pytest.mark.parametrize(
    ("kind", "given", "amount"),
    [
        (Slotted, {"amount": "nan"}, lambda value: value.amount),
        (Around, {"inner": {"amount": "inf"}}, lambda value: -value.inner.amount),
        (Open, {"amount": "nan"}, lambda value: value.amount),
        (deque[float], ["nan"], lambda value: value[0]),
    ],
    ids=["a dataclass with slots", "one in a model", "an extra field", "a deque"],
)
def test_a_number_that_is_none_is_found_wherever_it_hides(kind: Any, given: Any, amount: Any):
    def is_large(args: dict[str, Any]) -> bool:
        return bool(amount(args["order"]) > 100)

    def refund(order, urgent=False) -> str:
        """Refund."""
        return "refunded"

    refund.__annotations__ = {"order": kind, "urgent": bool}
    made = tool(approval=is_large)(refund)
    verdict = Policy([Rule("deny", when=is_large)]).decide(Proposal.of("r1", "a", "refund", {"order": given}, made))

    assert made.needs_approval({"order": given})
    assert verdict is not None
    assert (verdict.action, "is NaN or infinite" in verdict.why) == ("ask", True)


def test_what_is_hidden_in_an_object_is_looked_at_by_its_name():
    kept = Kept(1.0)
    assert is_finite(kept)
    kept._Kept__hidden = complex("nan")
    assert not is_finite(kept)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("NaN")])
def test_a_number_that_is_none_asks_and_is_denied_all_the_same(number: Any):
    small = Rule("allow", args={"amount": {"le": 100}})

    assert said(Policy([small]), amount=number) == "ask"
    assert said(Policy([Rule("allow")]), amount=number) == "ask"
    assert said(Policy([Rule("allow", when=lambda args: True)]), deep=[{"x": number}]) == "ask"
    assert said(Policy([Rule("deny")]), amount=number) == "deny"


def test_a_rule_about_hints_of_a_tool_that_is_not_here_asks():
    assert said(Policy([Rule("allow", read_only=True)]), hints=None) == "ask"
    assert said(Policy([Rule("allow")]), hints=None) == "allow"


CONDITIONS = [
    ({"amount": 10}, True),
    ({"amount": {"eq": 10.0}}, True),
    ({"amount": {"ne": 10}}, False),
    ({"amount": {"gt": 9, "lt": 11}}, True),
    ({"amount": {"ge": 10, "le": 10}}, True),
    ({"country": {"in": ["DE", "FR"]}}, True),
    ({"country": {"not_in": ["DE", "FR"]}}, False),
    ({"country": {"glob": "D?"}}, True),
    ({"country": {"starts": "X"}}, False),
    ({"tags": {"contains": "vip"}}, True),
    ({"note": {"given": False}}, True),
    ({"amount": {"given": True}}, True),
    ({"to": {"city": "Kyiv", "zip": {"starts": "01"}}}, True),
    ({"to": {"city": "Bern"}}, False),
    ({"on": {"lt": dt.date(2027, 1, 1)}}, True),
    ({"nothing": {"eq": None}}, True),
    ({"nothing": {"eq": "DE"}}, False),
]


@pytest.mark.parametrize(("conditions", "holds"), CONDITIONS, ids=str)
def test_conditions_compare_what_was_sent(conditions: dict[str, Any], holds: bool):
    args = {
        "amount": 10,
        "country": "DE",
        "tags": ["vip", "new"],
        "to": {"city": "Kyiv", "zip": "01001"},
        "on": dt.date(2026, 5, 1),
        "nothing": None,
    }

    assert said(Policy([Rule("allow", args=conditions)]), **args) == ("allow" if holds else None)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Rule("permit"), "says 'allow', 'ask' or 'deny', found 'permit'"),
        (lambda: Rule("ask", ""), "the glob of tools is a text"),
        (lambda: Rule("ask", args={}), "args is a table of conditions"),
        (lambda: Rule("ask", args={"amount": {"gt": 1, "city": 2}}), "args.amount mixes operators with names"),
        (lambda: Rule("ask", args={"amount": {"in": 5}}), "args.amount.in takes a list of values, found 5"),
        (lambda: Rule("ask", args={"amount": {"gt": True}}), "args.amount.gt takes a number"),
        (lambda: Rule("ask", read_only="yes"), "read_only is True, False or None"),
        (lambda: Rule("deny", read_only=0), "read_only is True, False or None for any, found 0"),
        (lambda: Rule("ask", when=later), "when is a plain function"),
        (lambda: Rule("allow", expires=5), "only a question expires"),
        (lambda: Policy(["ask"]), "a policy is made of rules, found 'ask'"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_when_it_is_made(made: Any, words: str):
    with pytest.raises(BadInput, match=words):
        made()


def test_rules_of_one_id_are_told_apart():
    policy = Policy([Rule("ask", "a"), Rule("ask", "a"), Rule("deny", "a", id="mine")])

    assert [rule.id for rule in policy.rules] == ["ask-a", "ask-a-2", "mine"]
    assert "ask about a" in repr(policy)
    assert "<td>mine</td>" in policy._repr_html_()


def test_a_rule_says_in_words_what_it_does():
    rule = Rule("ask", "refund_*", agent="support", args={"amount": {"gt": 100}, "to": {"country": "DE"}})

    assert rule.sentence == "ask about refund_* from support, where amount gt 100 and to.country eq 'DE'"
    assert Rule("deny", read_only=False).sentence == "deny every tool, if not read only"


FILE = """
[[rules]]
action = "ask"
tool = "refund_*"
agent = "support"
args.amount.gt = 100
args.to.country = "DE"
reason = "large refunds need a person"
expires = 600

[[rules]]
id = "reading is free"
action = "allow"
read_only = true
"""


def test_a_policy_is_read_from_a_file(tmp_path: Path):
    file = tmp_path / "policy.toml"
    file.write_text(FILE)

    policy = read_policy(file)

    first, second = policy.rules
    assert first.args == {"amount": {"gt": 100}, "to": {"country": "DE"}}
    assert (first.expires, first.reason, second.id) == (600.0, "large refunds need a person", "reading is free")
    assert said(policy, amount=101, to={"country": "DE"}) == "ask"
    assert said(policy, amount=99, to={"country": "DE"}) is None
    assert [Rule.from_plain(rule.to_plain()) for rule in policy.rules] == [first, second]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules = 5", r"has one \[\[rules\]\] for each rule and nothing beside, found 5"),
        ("default = 1\n[[rules]]\naction='ask'", "nothing beside, found default"),
        ("[[rules]]\ntool='a'", "rule 1: a rule is a table with an action"),
        ("[[rules]]\naction='ask'\n[[rules]]\naction='ask'\nwhen='os.remove()'", "rule 2: a rule has no when; it may"),
        ("[[rules]]\naction='ask'\nargs.amount.over=5\nargs.amount.gt=5", "rule 1: .* mixes operators with names"),
        ("[[rules", "is no TOML"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_by_the_number_of_the_rule(text: str, words: str):
    with pytest.raises(BadInput, match=words):
        parse_policy(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(BadInput, match=r"the policy '.*none.toml' cannot be read"):
        read_policy(tmp_path / "none.toml")
