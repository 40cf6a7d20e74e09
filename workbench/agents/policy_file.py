"""The policy as a file: TOML, one `[[rules]]` for each rule, read and checked as a whole.

    [[rules]]
    action = "ask"
    tool = "refund_*"
    args.amount.gt = 100
    reason = "large refunds need a person"

Nothing of it is code: conditions are compared (`workbench.agents.conditions`), never evaluated. What a file may say
and a rule may not is refused by the number of the rule. Source: AGENTS 4 (policy).
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from workbench.agents.policy import Policy, Rule
from workbench.errors import BadInput

__all__ = ["parse_policy", "read_policy"]


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file. Raises: BadInput naming the file and what is wrong in it."""
    if not isinstance(path, (str, os.PathLike)):
        raise BadInput(f"a policy is a Policy or the path of a TOML file, found {path!r:.80}")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"the policy {str(path)!r} cannot be read: {error}") from error
    return parse_policy(text, str(path))


def parse_policy(text: str, name: str = "the policy") -> Policy:
    """The policy of a text. Raises: BadInput naming `name` and what is wrong in it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{name} is no TOML: {error}") from error
    rules = document.pop("rules", None)
    if document or not isinstance(rules, list):
        found = ", ".join(sorted(document)) or repr(rules)
        raise BadInput(f"{name} has one [[rules]] for each rule and nothing beside, found {found}")
    made = []
    for number, plain in enumerate(rules, start=1):
        try:
            made.append(Rule.from_plain(plain))
        except BadInput as error:
            raise BadInput(f"{name}, rule {number}: {error}") from error
    return Policy(made)
