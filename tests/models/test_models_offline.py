"""The offline model: which tool it picks, what it fills in, and what it says of results."""

from __future__ import annotations

import pytest

from workbench import models
from workbench.models.messages import ToolResult, tool_results_message, user_message
from workbench.models.model import Request, ToolSpec

ORDER = {"type": "string", "pattern": r"^A-\d{4}$", "description": "The order number, e.g. A-1001"}


def spec(name, description, required=None, optional=None):
    required, optional = required or {}, optional or {}
    schema = {"type": "object", "properties": {**required, **optional}, "required": list(required)}
    return ToolSpec(name, description, schema)


SHOP = [
    spec("lookup_order", "Look an order up by its number.", {"order_id": ORDER}),
    spec("refund_order", "Refund an order and email the customer a receipt.", {"order_id": ORDER}),
    spec("cancel_order", "Cancel an order.", {"order_id": ORDER}, {"reason": {"type": "string", "default": ""}}),
]
TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
OTHERS = [
    spec("weather", "Get the weather in a city.", {"city": TEXT}),
    spec("add", "Add two numbers.", {"a": INTEGER, "b": INTEGER}),
    spec("send_email", "Send an email.", {"to": TEXT, "subject": TEXT, "body": TEXT}),
    spec("research", "Research a topic.", {"topic": TEXT}),
    spec("set_light", "Switch a light.", {"room": {"enum": ["kitchen", "living_room"]}}, {"on": {"type": "boolean"}}),
    spec("roll_dice", "Roll dice.", {}, {"sides": {"anyOf": [INTEGER, {"type": "null"}]}}),
    spec("remember", "Remember a fact.", {"fact": TEXT}),
    spec(
        "book",
        "Book a table.",
        {"day": {"type": "string", "format": "date"}},
        {"guests": INTEGER, "window": {"type": "boolean"}},
    ),
    spec("label", "Label things.", {"tags": {"type": "array", "items": TEXT}}),
]


async def ask(text, tools, *history):
    pieces: list[str] = []
    turn = await models.resolve("offline").ask(Request(None, [*history, user_message(text)], tools), pieces.append)
    assert "".join(pieces) == turn.text
    return turn


async def calls(text, tools, *history):
    return [(call.tool, call.args) for call in (await ask(text, tools, *history)).calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cancel order A-1002", [("cancel_order", "A-1002")]),
        ("Refund order A-1001", [("refund_order", "A-1001")]),
        ("Where is order A-1001?", [("lookup_order", "A-1001")]),
        ("What is the status of A-1003?", [("lookup_order", "A-1003")]),
        ("Order A-1001 is late", [("lookup_order", "A-1001")]),
        ("Please refund A-1001, but do not cancel A-1002", [("refund_order", "A-1001")]),
        ("Can you please cancel a-1002?", [("cancel_order", "A-1002")]),
        ("Refund A-1001 and cancel A-1002", [("refund_order", "A-1001"), ("cancel_order", "A-1002")]),
        ("Look up A-1001, then refund it", [("lookup_order", "A-1001"), ("refund_order", "A-1001")]),
        ("Refund A-1001, A-1002 and A-1003", [("refund_order", f"A-100{n}") for n in (1, 2, 3)]),
        (
            "Refund orders A-1001 and A-1002. Cancel A-1003!",
            [("refund_order", "A-1001"), ("refund_order", "A-1002"), ("cancel_order", "A-1003")],
        ),
        ("I need my money back for A-1001", [("refund_order", "A-1001")]),
        ("call cancel_order for A-1004", [("cancel_order", "A-1004")]),
        ("Was order A-1002 cancelled?", [("lookup_order", "A-1002")]),
        ("How do I cancel order A-1002?", [("lookup_order", "A-1002")]),
    ],
)
async def test_a_request_picks_its_tools(text, expected):
    assert await calls(text, SHOP) == [(tool, {"order_id": order}) for tool, order in expected]


@pytest.mark.parametrize(
    "text", ["Do not cancel order A-1002", "Never refund A-1001", "Hello", "What can you do?", "", "A-1", "???"]
)
async def test_what_is_not_asked_for_is_not_called(text):
    turn = await ask(text, SHOP)

    assert turn.calls == []
    assert "lookup_order (look an order up by its number)" in turn.text


async def test_a_question_changes_nothing():
    assert await calls("Where is order A-1001?", [SHOP[1], SHOP[2]]) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Cancel order A-1002 because it is late and too heavy.", "it is late and too heavy"),
        ("cancel A-1002, reason: too slow", "too slow"),
        ('Cancel A-1002 with the reason "wrong size, and late"', "wrong size, and late"),
    ],
)
async def test_an_optional_argument_is_filled_when_it_is_plainly_there(text, reason):
    assert await calls(text, SHOP) == [("cancel_order", {"order_id": "A-1002", "reason": reason})]


async def test_what_is_missing_is_asked_for():
    turn = await ask("Cancel my order", SHOP)

    assert turn.calls == []
    assert turn.text == "cancel_order needs order_id (the order number, e.g. A-1001), which the request does not say."


async def test_it_points_to_what_was_said_before():
    assert await calls("Cancel it", SHOP, user_message("Where is A-1008?"), user_message("And A-1009?")) == [
        ("cancel_order", {"order_id": "A-1009"})
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the weather in Paris?", ("weather", {"city": "Paris"})),
        ("weather Paris", ("weather", {"city": "Paris"})),
        ("Add 2 and 3", ("add", {"a": 2, "b": 3})),
        ("What is 2 plus -3?", ("add", {"a": 2, "b": -3})),
        ("Add 1,200 and 7", ("add", {"a": 1200, "b": 7})),
        (
            'Send an email to ada@example.org with subject "Hi" and body "See you at 5, and bye"',
            ("send_email", {"to": "ada@example.org", "subject": "Hi", "body": "See you at 5, and bye"}),
        ),
        ("Research the history of tea.", ("research", {"topic": "the history of tea"})),
        ("Switch the kitchen light on", ("set_light", {"room": "kitchen", "on": True})),
        ("Set the light in the living room", ("set_light", {"room": "living_room"})),
        ("Roll the dice", ("roll_dice", {})),
        ("Roll dice with 6 sides", ("roll_dice", {"sides": 6})),
        ("Remember that Ada likes tea", ("remember", {"fact": "Ada likes tea"})),
        (
            "Book a table on 2026-03-01 for 4 guests, without window",
            ("book", {"day": "2026-03-01", "guests": 4, "window": False}),
        ),
        ("Label it 'red' and 'big'", ("label", {"tags": ["red", "big"]})),
    ],
)
async def test_arguments_are_found_in_the_text(text, expected):
    assert await calls(text, OTHERS) == [expected]


async def test_nested_and_referenced_schemas_are_filled():
    schema = {
        "type": "object",
        "$defs": {
            "Order": {"type": "object", "properties": {"id": ORDER, "count": INTEGER}, "required": ["id", "count"]}
        },
        "properties": {"order": {"$ref": "#/$defs/Order"}},
        "required": ["order"],
    }

    assert await calls("Ship 3 of A-1001", [ToolSpec("ship", "Ship.", schema)]) == [
        ("ship", {"order": {"id": "A-1001", "count": 3}})
    ]


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (ToolResult("c", "cancel_order", "A-1002 cancelled"), "A-1002 cancelled."),
        (
            ToolResult("c", "lookup_order", {"id": "A-1001", "item": "Trail backpack", "in_stock": True, "note": None}),
            "lookup_order gave id A-1001, item Trail backpack, in stock yes, note none.",
        ),
        (ToolResult("c", "add", 5), "add gave 5."),
        (ToolResult("c", "find", ["a", "b"]), "find gave 2 results: a; b."),
        (ToolResult("c", "remember", None), "remember is done."),
        (
            ToolResult("c", "cancel_order", "A person declined this call: too late", "denied"),
            "cancel_order was not run: a person declined this call: too late.",
        ),
        (ToolResult("c", "cancel_order", None, "denied"), "cancel_order was not run: a person declined this call."),
        (ToolResult("c", "pay", "the card expired", "failed"), "pay failed: the card expired."),
        (ToolResult("c", "pay", None, "interrupted"), "pay: it was interrupted and may or may not have happened."),
        (
            ToolResult("c", "pay", "This call was interrupted. It may or may not have happened.", "interrupted"),
            "pay: this call was interrupted. It may or may not have happened.",
        ),
        (
            ToolResult("c", "cancel_order", {"result": "A-2 cancelled", "note": "A person changed the arguments."}),
            "A-2 cancelled. A person changed the arguments.",
        ),
        (ToolResult("c", "pay", "amount is missing", "retried"), "pay failed: amount is missing."),
    ],
)
async def test_a_result_is_told_in_one_plain_sentence(result, sentence):
    model = models.resolve("offline")
    first = await ask("Cancel order A-1002", SHOP)

    turn = await model.ask(
        Request(None, [user_message("Cancel order A-1002"), first.message, tool_results_message([result])], SHOP), print
    )

    assert (turn.text, turn.calls) == (sentence, [])


async def test_a_long_result_is_cut():
    model = models.resolve("offline")

    turn = await model.ask(Request(None, [tool_results_message([ToolResult("c", "read", "long " * 1000)])], []), print)

    assert len(turn.text) == 400
    assert turn.text.endswith("…")


async def test_a_new_request_after_an_answer_is_served():
    model = models.resolve("offline")
    first = await ask("Cancel order A-1002", SHOP)
    told = tool_results_message([ToolResult(first.calls[0].id, "cancel_order", "done")])
    history = [user_message("Cancel order A-1002"), first.message, told]
    answer = await model.ask(Request(None, history, SHOP), print)

    turn = await ask("Refund A-1001", SHOP, *history, answer.message)

    assert [(call.id, call.tool) for call in turn.calls] == [("call_2_0", "refund_order")]


async def test_without_tools_it_says_so():
    assert "I was given none" in (await ask("Hello", [])).text


async def test_the_same_request_gives_the_same_turn():
    assert await ask("Refund A-1001", SHOP) == await ask("Refund A-1001", SHOP)
