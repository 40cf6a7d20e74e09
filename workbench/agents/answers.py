"""Answers: what a tool asks a person for, as a JSON schema, and a person's value as the tool gets it.

- What is asked for is a type (a model, a dataclass, a TypedDict, an Enum, `int`, …) or a JSON schema.
- A value is checked by the schema when a person gives it, before it is decided, and becomes one of the type in the
  tool.

Source: AGENTS 4 (P1, ask the user). Knows nothing of requests or runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, ValidationError, to_jsonable_python

from workbench.errors import BadInput
from workbench.models.checks import said_of
from workbench.models.schemas import check_schema, misfits
from workbench.plain import Shape

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Form", "checked_answer"]


class Form:
    """What is asked for. `schema` is its JSON schema."""

    def __init__(self, asked: Any) -> None:
        """Raises: BadInput for what has no JSON schema, or is none."""
        self._adapter: TypeAdapter[Any] | None = None
        if isinstance(asked, dict):
            check_schema(asked, "the answer")
            self.schema: dict[str, Any] = dict(asked)
            return
        try:
            self._adapter = Shape(asked, strict=True).adapter()
            self.schema = self._adapter.json_schema()
        except Exception as error:  # whatever the reason, there is no schema
            raise BadInput(
                f"a person cannot be asked for {asked!r}, which has no JSON schema; "
                "ask for plain data, a model, a dataclass, an Enum, or give a JSON schema"
            ) from error

    def read(self, value: Any) -> Any:
        """The answer as the tool gets it. Raises: BadInput when the type does not take it."""
        if self._adapter is None:
            return value
        try:
            return self._adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BadInput(f"{place}: {first['msg']}" if place else first["msg"]) from error


def checked_answer(schema: dict[str, Any], value: Any, id: str) -> Any:
    """A person's value as JSON that fits the schema.

    Raises: BadInput naming the request, what of the value was found and what was expected.
    """
    try:
        plain = to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise BadInput(f"the answer to {id!r} is {value!r:.80}, which is no JSON; give plain data") from error
    problems = misfits(schema, plain, "the answer")
    if problems:
        raise BadInput(f"the answer to {id!r} does not fit: {said_of(problems)}", id=id, problems=problems)
    return plain
