"""Verbs of the command line for who decides: approvals and what may be done with each, rules, revoke, dry-run.

Each works on an open bench and gives what Python's verb of that name gives, decided `via` the command line. Knows
nothing of how a store is named or a value is printed.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.approval import Approval
    from workbench.agents.batch import Batch
    from workbench.agents.rulebook import Kept
    from workbench.bench import Workbench
    from workbench.cli_upkeep import Work

__all__ = ["add_verbs"]

VIA = "cli"
Done = tuple[Any, str, int]


def add_verbs(add: Callable[[str, Work, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, work, words)`, which gives its parser."""
    approvals = add("approvals", _approvals, "what waits for a person")
    approvals.add_argument("--all", action="store_true", help="those that are decided too")
    approvals.add_argument("--records", action="store_true", help="the whole record of each, as JSON")
    approvals.add_argument("--ag-ui", action="store_true", help="each as an interrupt of AG-UI, as JSON")
    approve = add("approve", _approve, "let waiting calls run")
    approve.add_argument("--args", metavar="JSON", help="other arguments in place of those shown, for one call")
    reject = add("reject", _reject, "keep waiting calls from running")
    reject.add_argument("--reason", help="shown to the model")
    for several in (approve, reject):
        several.add_argument("ids", nargs="*", metavar="ID", help="the approvals' ids")
        several.add_argument("--all", action="store_true", help="all that wait now")
    answer = add("answer", _answer, "give the value that is asked for, or answer as the tool")
    dismiss = add("dismiss", _dismiss, "close a request undecided")
    always = add("always", _always, "approve, and write the rule that lets this tool of this agent run from now on")
    always.add_argument("--scope", choices=("run", "notebook"), default="notebook", help="where the rule holds")
    for one in (answer, dismiss, always):
        one.add_argument("id", help="the approval's id")
    answer.add_argument("value", help="the value as JSON; what is no JSON is a text")
    add("rules", _rules, "the rules that people wrote and that are in force")
    revoke = add("revoke", _revoke, "take a rule out of force")
    revoke.add_argument("rule", help="the rule's id")
    for decision in (approve, reject, answer, dismiss, always, revoke):
        decision.add_argument("--by", default=os.environ.get("USER", "you"), help="who decides")
    for shown in (approve, answer, dismiss, always):
        shown.add_argument("--digest", help="refuse unless the arguments have this digest")
    dry_run = add("dry-run", _dry_run, "the past calls that a policy would have stopped")
    dry_run.add_argument("policy", nargs="?", help="the TOML file of the policy (the rules in force)")
    dry_run.add_argument("--every", action="store_true", help="all past calls")


async def _approvals(bench: Workbench, options: argparse.Namespace) -> Done:
    table = bench.approvals.all() if options.all else bench.approvals.pending()
    if options.ag_ui or options.records:
        value = [one.interrupt() if options.ag_ui else one.record for one in table]
        return value, json.dumps(value, indent=1, default=str), 0
    return [one.view for one in table], repr(table), 0


async def _approve(bench: Workbench, options: argparse.Namespace) -> Done:
    by, args = options.by, None if options.args is None else _json("--args", options.args)
    if len(options.ids) == 1 and not options.all:
        approval = await bench.approvals.approve(options.ids[0], args, by=by, via=VIA, digest=options.digest)
        return _one(approval)
    if args is not None or options.digest is not None:
        raise BadInput("--args and --digest are about one call; name one id")
    return _several(await bench.approvals.approve_all(_ids(options), by=by, via=VIA))


async def _reject(bench: Workbench, options: argparse.Namespace) -> Done:
    if len(options.ids) == 1 and not options.all:
        return _one(await bench.approvals.reject(options.ids[0], options.reason, by=options.by, via=VIA))
    return _several(await bench.approvals.reject_all(_ids(options), options.reason, by=options.by, via=VIA))


async def _answer(bench: Workbench, options: argparse.Namespace) -> Done:
    try:
        value = json.loads(options.value)
    except ValueError:
        value = options.value
    return _one(await bench.approvals.answer(options.id, value, by=options.by, via=VIA, digest=options.digest))


async def _dismiss(bench: Workbench, options: argparse.Namespace) -> Done:
    return _one(await bench.approvals.dismiss(options.id, by=options.by, via=VIA, digest=options.digest))


async def _always(bench: Workbench, options: argparse.Namespace) -> Done:
    always = await bench.approvals.always(
        options.id, scope=options.scope, by=options.by, via=VIA, digest=options.digest
    )
    resolved = [one.view for one in always.resolved]
    value = {"approval": always.approval.view, "rule": _rule(always.rule), "resolved": resolved}
    words = f"{options.id} approved; from now on: {always.rule.sentence} ({always.rule.id})"
    return value, f"{words}\n{len(resolved)} more that waited approved by the rule" if resolved else words, 0


async def _rules(bench: Workbench, options: argparse.Namespace) -> Done:
    rules = bench.policy.rules
    return [_rule(kept) for kept in rules], repr(rules), 0


async def _revoke(bench: Workbench, options: argparse.Namespace) -> Done:
    await bench.policy.revoke(options.rule, by=options.by)
    return {"rule": options.rule, "revoked": True, "by": options.by}, f"{options.rule} revoked", 0


async def _dry_run(bench: Workbench, options: argparse.Namespace) -> Done:
    table = await bench.policy.dry_run(options.policy, every=options.every)
    return list(table), repr(table), 0


def _ids(options: argparse.Namespace) -> list[str] | None:
    """The ids that were named, or None for all that wait."""
    if options.all is bool(options.ids):
        raise BadInput("name the ids of approvals, or --all for all that wait")
    return options.ids or None


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"{option} is JSON, found {text!r}: {error}") from error


def _one(approval: Approval) -> Done:
    return approval.view, f"{approval.id} {approval.status}: {approval.tool} of {approval.run}", 0


def _several(batch: Batch) -> Done:
    undecided = {id: str(why) for id, why in batch.undecided.items()}
    value = {"decided": [one.view for one in batch.decided], "undecided": undecided}
    words = [_one(one)[1] for one in batch.decided] + [f"not decided: {why}" for why in undecided.values()]
    return value, "\n".join(words) or "nothing waits", 1 if undecided else 0


def _rule(kept: Kept) -> dict[str, Any]:
    return {**asdict(kept), "rule": kept.rule.to_plain(), "sentence": kept.sentence}
