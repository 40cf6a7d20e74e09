"""Docstrings: every layout gives the same descriptions, and one that cannot be read is warned about."""

from __future__ import annotations

import pytest

from workbench.agents.tools import as_tool

LAYOUTS = {
    "google": "Send a note.\n\n    Args:\n        to: Who gets it.\n        body (str): What it says.\n    ",
    "no blank line before": "Send a note.\n    Args:\n        to: Who gets it.\n        body: What it says.\n    ",
    "a blank line after": "Send a note.\n\n    Args:\n\n        to: Who gets it.\n        body: What it says.\n    ",
    "neither": "Send a note.\n    Args:\n\n        to: Who gets it.\n        body: What it says.",
    "not indented": "Send a note.\n\n    Args:\n    to: Who gets it.\n    body: What it says.\n    ",
    "then a section": "Send a note.\n\nArgs:\n    to: Who gets it.\n    body: What it says.\nReturns:\n    None.\n",
    "followed by text": "Send a note.\n\nArgs:\n    to: Who gets it.\n    body: What it says.\nMore words.\n",
    "arguments": "Send a note.\nArguments:\n    to: Who gets it.\n    body: What it says.",
    "numpy": "Send a note.\n\nParameters\n----------\nto : str\n    Who gets it.\nbody : str\n    What it says.\n",
    "numpy close": "Send a note.\nParameters\n----------\nto\n    Who gets it.\nbody\n    What it says.",
    "sphinx": "Send a note.\n\n:param to: Who gets it.\n:param str body: What it says.",
    "sphinx close": "Send a note.\n:param to: Who gets it.\n:param body: What it says.\n:returns: Nothing.",
}


@pytest.mark.parametrize("doc", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_same_schema(doc):
    def note(to: str, body: str) -> None: ...

    note.__doc__ = doc
    made = as_tool(note)

    described = {name: part.get("description") for name, part in made.parameters["properties"].items()}
    assert described == {"to": "Who gets it.", "body": "What it says."}
    assert made.description == "Send a note."


@pytest.mark.parametrize(
    "doc", ["Send.\n\n- to: Who gets it.\n- body: What it says.", "Send.\n\n@param to: Who.\n@param body: What."]
)
def test_a_layout_that_cannot_be_read_warns_once(doc):
    def note(to: str, body: str) -> None: ...

    note.__doc__ = doc

    with pytest.warns(
        UserWarning, match=r"tool 'note' describes to, body in its docstring .*list parameters under 'Args:'"
    ) as said:
        as_tool(note)

    assert len(said) == 1
    assert said[0].filename == __file__


def test_a_description_beside_the_type_needs_no_docstring():
    from typing import Annotated

    from pydantic import Field

    def note(to) -> None:
        """Send a note.

        to: Who gets it.
        """

    note.__annotations__["to"] = Annotated[str, Field(description="A name")]

    assert as_tool(note).parameters["properties"]["to"]["description"] == "A name"


def test_a_docstring_without_parameters_is_the_description():
    def note() -> None:
        """Send a note: gently.

        It may take a while.
        """

    assert as_tool(note).description == "Send a note: gently.\n\nIt may take a while."


def test_no_docstring_is_an_empty_description():
    def note() -> None: ...

    assert as_tool(note).description == ""
    assert as_tool(note, description="Send a note.").description == "Send a note."
