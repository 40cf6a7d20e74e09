"""Output: what an agent answers with when that is more than text, and how what a model gave becomes it.

- The model is offered one more tool, `final_result`, whose arguments are the output; a text that is JSON of the same
  shape is taken too, since some models can do no better.
- What is kept is plain data that reads back as the same value; who awaits the run gets the value read from that.
- What does not fit is told to the model by place, what was found and what was expected.

Knows nothing of turns, budgets or the journal.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, NotPlain
from workbench.models.checks import is_finite, problem_of, rooted, said_of, strict_json
from workbench.models.model import ToolSpec
from workbench.plain import encode

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["FINAL_RESULT", "Misfit", "Output"]

FINAL_RESULT = "final_result"
"""The tool that a model answers with."""

VALUE = "value"
"""The one argument of that tool where the output is no object itself."""


class Misfit(Exception):
    """What a model gave is not the output. Its words are for the model; nothing else ever sees it."""


class Output:
    """The type of an agent's output: a pydantic model, a dataclass, a TypedDict, a list, a scalar, a union of them.

    Raises: BadInput naming the agent when the type has no JSON schema.
    """

    def __init__(self, kind: Any, agent: str) -> None:
        self.kind = kind
        self.name = getattr(kind, "__name__", None) or str(kind).replace("typing.", "")
        schema = rooted(strict_json(self._schema(agent)))
        self._wrapped = schema.get("type") != "object"
        if self._wrapped:
            definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
            schema = {"type": "object", "properties": {VALUE: schema}, "required": [VALUE], **definitions}
        self.spec = ToolSpec(FINAL_RESULT, f"Give the final answer: {schema.get('description') or self.name}.", schema)

    def __repr__(self) -> str:
        return f"<output {self.name}>"

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        from pydantic import TypeAdapter

        return TypeAdapter(self.kind)

    def _schema(self, agent: str) -> dict[str, Any]:
        from pydantic.errors import PydanticUserError

        if isinstance(self.kind, (str, bytes, dict)):
            raise BadInput(
                f"the output of agent {agent!r} is a type, such as a pydantic model, found {self.kind!r:.80}",
                agent=agent,
            )
        try:
            return self._adapter.json_schema()
        except PydanticUserError as error:
            remedy = "import TypedDict from typing_extensions" if "TypedDict" in str(error) else "use plain data types"
            raise BadInput(
                f"agent {agent!r} has the output {self.kind!r}, which has no JSON schema; {remedy}, a pydantic model, "
                "a dataclass, or a list of them",
                agent=agent,
            ) from error

    def of_arguments(self, args: dict[str, Any]) -> Any:
        """The output, as it is kept, that the arguments of the tool are. Raises: Misfit."""
        if not self._wrapped:
            return self._fitting(args)
        if args.keys() != {VALUE}:
            raise Misfit(f"the arguments are {sorted(args)}, expected only {VALUE!r}")
        return self._fitting(args[VALUE])

    def of_text(self, text: str) -> Any:
        """The output, as it is kept, that a text is: JSON, also between the marks of a code block. Raises: Misfit."""
        fenced = re.fullmatch(r"\s*```\w*\s*\n(.*?)\n?\s*```\s*", text, re.DOTALL)
        try:
            found = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError):
            raise Misfit("the answer is text") from None
        inner = found[VALUE] if self._wrapped and isinstance(found, dict) and found.keys() == {VALUE} else found
        return self._fitting(inner)

    def _fitting(self, given: Any) -> Any:
        from pydantic import ValidationError

        try:
            value = self._adapter.validate_json(json.dumps(given))
        except ValidationError as error:
            problems = [problem_of(detail, whole="the answer") for detail in error.errors(include_url=False)]
            raise Misfit(said_of(problems)) from error
        return self._kept(value)

    def _kept(self, value: Any) -> Any:
        """The value as plain data that reads back as it.

        Raises: NotPlain when the type has no such form, Misfit for a number that has none.
        """
        for by_alias in (True, False):
            plain = self._adapter.dump_python(value, mode="json", by_alias=by_alias, round_trip=True)
            try:
                encode(plain, "the output")
                again = self._adapter.dump_python(self.value(plain), mode="json", by_alias=by_alias, round_trip=True)
            except ValueError:
                continue
            if again == plain:
                return plain
        if not is_finite(value):  # the model's doing, and not that of the type
            raise Misfit("a number of the answer is NaN or infinite, expected one that is neither")
        raise NotPlain(
            f"the output {value!r:.80} cannot be kept: as JSON it does not read back as the same {self.name}; "
            "give the type a serializer and a validator that match"
        )

    def value(self, plain: Any) -> Any:
        """The value that was kept. Raises: ValueError when the type has changed so that it does not fit any more."""
        return self._adapter.validate_json(json.dumps(plain))
