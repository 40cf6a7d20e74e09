"""The static twin reads without a kernel, without scripts, and where a sanitiser took styles and drawings away."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from views import START, approval, call, inbox, message, process, run

from workbench.widgets import static_twin

ALLOWED = {
    *("div", "h4", "p", "span", "b", "i", "table", "thead", "tbody", "tr", "th", "td", "code", "br", "pre"),
    *("details", "summary", "style", "svg", "path", "circle"),
}


class Reader(HTMLParser):
    """What a sanitiser leaves: the text, and which tags and attributes there were."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.said: list[str] = []
        self._skip = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._skip += tag in ("style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("style", "svg")
        if tag in ("td", "th", "tr", "h4", "p"):
            self.said.append("|" if tag in ("td", "th") else "\n")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.said.append(data)

    @property
    def text(self) -> str:
        return "".join(self.said)


def test_a_run_reads_as_a_heading_a_sentence_and_a_table() -> None:
    text = Reader(static_twin.html(run())).text

    assert text.splitlines()[:3] == [
        "support, run-7f3a: waiting for an approval",
        "Picture of 29 Nov 2026, 14:02:46 UTC. Elapsed 0:15, Model calls 2, Tokens 1,284 in, 212 out, Cost no price, "
        "Budget 1,496 of 20,000 tokens.",
        "1 approval waits for you: cancel_order.",
    ]
    assert "At|Who|What|Outcome|Took|" in text
    assert '0:02|tool|refund_order(order_id="A-1001") → "rf_8812"step refund: success, 1.9 s| success|2.0 s|' in text
    assert '0:05|tool|cancel_order(order_id="A-1002")| waiting for an approval||' in text


def test_a_request_is_said_by_whoever_asked() -> None:
    texts = [static_twin.text(run(rows=[message("you", "Hello", **by)])) for by in ({}, {"asker": "mcp:desktop"})]

    assert [text.splitlines()[3].strip() for text in texts] == ["0:00  You  Hello", "0:00  mcp:desktop  Hello"]


def test_it_says_that_it_is_not_live_and_how_to_decide() -> None:
    text = Reader(static_twin.html(run())).text

    assert "Saved picture, not live." in text
    assert 'To decide: await bench.approvals.approve("ap-31") or workbench approve ap-31' in text


def test_a_killed_run_says_how_to_recover_it() -> None:
    killed = run(alive=False, status="running", killed_at=START + 14, killed_by="you")

    text = Reader(static_twin.html(killed)).text

    assert text.startswith("support, run-7f3a: running, killed")
    assert 'await bench.runs["run-7f3a"].recover()' in text


@pytest.mark.parametrize("view", [run(), inbox(), process(), run(rows=[])], ids=["run", "inbox", "process", "empty"])
def test_it_holds_no_script_no_address_and_no_handler(view: dict[str, Any]) -> None:
    html = static_twin.html(view)
    read = Reader(html)

    assert read.tags <= ALLOWED
    assert not [name for name in read.attributes if name.startswith("on") or name in ("href", "src")]
    assert not re.search(r"https?:|url\(|@import", html)


def test_hostile_values_are_text() -> None:
    mean = '</td></table><script>alert(1)</script><img src=x onerror="alert(1)">'
    view = run(
        agent=mean,
        id=mean,
        output=[mean],
        rows=[
            message("you", mean),
            call(mean, {mean: mean}, status=mean, note=mean, result={mean: mean}, progress=[mean]),
        ],
        now_line={"tone": "plain", "shape": mean, "strong": mean, "text": mean, "action": None},
    )

    for html in (
        static_twin.html(view),
        static_twin.html(inbox(pending=[approval(mean, tool=mean, sentence=mean)])),
        static_twin.html(process(name=mean, key=mean, status=mean, state={mean: mean})),
    ):
        read = Reader(html)
        assert read.tags <= ALLOWED
        assert not {"src", "onerror"} & read.attributes
        assert mean in read.text


def test_what_turns_the_direction_of_a_text_is_a_mark() -> None:
    mean = "pay \u202eevil\u202c\x07"
    shown = run(rows=[message("you", mean), call("pay", {"to": mean}, result=mean, note=mean, progress=[mean])])

    for html in (static_twin.html(shown), static_twin.html(inbox(pending=[approval("ap-1", sentence=mean)]))):
        assert not set(html) & {"\u202e", "\u202c", "\x07"}
        assert "pay ⟨U+202E⟩evil⟨U+202C⟩␇" in Reader(html).text


def test_the_inbox_names_rules_what_asks_for_a_value_and_why_a_person_is_asked() -> None:
    rule = {"id": "allow-a-1", "sentence": "approve a from support, in this notebook"}
    decided = approval("ap-1", status="approved", decided_by="rule", via="rule", rule_id="allow-a-1", decided_at=START)
    asks = approval("ap-2", asks="input_required", sentence="How old?", act="", message="How old?", args={})
    why = approval("ap-3", asks="tool_call", message="large orders need a person")

    text = static_twin.text(inbox(pending=[asks, why], decided=[decided], rules=[rule]))

    assert "rule approve a from support, in this notebook" in text
    assert "approved by the rule allow-a-1" in text
    assert 'await bench.approvals.answer("ap-2", …)' in text
    assert "workbench answer ap-2 JSON" in text
    assert "Asked because: large orders need a person" in text
    assert "Asked because: How old?" not in text


def test_the_inbox_names_who_decided_and_why() -> None:
    text = Reader(static_twin.html(inbox())).text

    assert text.startswith("Approvals: 1 pending")
    assert "ap-27|support, run-7f3a|" in text
    assert "rejected by ana, cli: wrong order|29 Nov 2026, 14:02:31 UTC|" in text


def test_a_process_shows_its_state_and_what_changed() -> None:
    text = Reader(static_twin.html(process(committed=False))).text

    assert text.startswith("order, order:A-1001: running, not committed yet")
    assert 'status|"charged"||' in text
    assert "total|70|changed|" in text


def test_a_long_value_is_cut_with_its_size() -> None:
    text = Reader(static_twin.html(run(rows=[call("fetch", {}, result="x" * 5000)]))).text

    assert "(5,002 characters)" in text
    assert text.count("x") < 200


def test_a_secret_is_dots() -> None:
    schema = {"properties": {"api_key": {"type": "string", "writeOnly": True}}}
    args = {"api_key": "hunter2", "id": 1}
    asked = call("post", args, status="waiting", approval=approval(args=args, schema=schema))

    for view in (
        run(rows=[asked]),
        run(rows=[call("post", args, secret=["api_key"])]),
        inbox(pending=[asked["approval"]]),
    ):
        text = Reader(static_twin.html(view)).text
        assert "post(api_key=••••••, id=1)" in text.replace("cancel_order(", "post(")
        assert "hunter2" not in text + static_twin.text(view)


def test_the_text_form_serves_a_terminal() -> None:
    text = static_twin.text(run(rows=[*run()["rows"], message("support", "a\x1b[31mred\nline")]))

    assert text.splitlines()[0] == "support, run-7f3a: waiting for an approval"
    assert "\x1b" not in text
    assert text.splitlines()[-1] == "To decide: workbench approve ap-31"


def test_a_repr_is_one_line_and_always_the_same() -> None:
    assert (
        static_twin.line(run())
        == static_twin.line(run(now=START + 999))
        == "<support, run-7f3a: waiting for an approval>"
    )
    assert static_twin.line({}) == "<an empty window>"


def test_a_fork_says_what_it_came_from() -> None:
    fork = {"of": "run-1", "before": "t2", "edited": [], "at": START, "saved": {"turns": 2, "calls": 1}}

    assert "forked from run-1 before t2, 2 turns shared" in static_twin.text(run(fork=fork))
