"""The views: the plain shapes that a run, the approvals and a process have for whoever shows them.

One shape serves the live panel, the static twin, the command line and tests. It is built on the loop, from the
journal and what is live; nothing in it needs a kernel to be read. Instants are UTC seconds, durations seconds, cost
micro-dollars. Words are those of the API (DESIGN 3), lower case.

Knows nothing of widgets or HTML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from workbench.durable.stages import StageGraph

__all__ = [
    "Action",
    "ApprovalView",
    "ApprovalsView",
    "BudgetView",
    "CallRow",
    "ChildRow",
    "Life",
    "MessageRow",
    "NowLine",
    "ProcessView",
    "RecoveryGroup",
    "RecoveryPart",
    "RuleView",
    "RunView",
    "Span",
    "StepRow",
    "TeamEdge",
    "TeamNode",
    "TeamRow",
    "TeamView",
    "Usage",
]


class Action(TypedDict):
    """A button that may be pressed now (or, when not `enabled`, is shown grey).

    `command` and `args` are what it sends.
    """

    label: str  # "Approve", "Kill", "Recover", "Cancel", "Edit…", "Reject…"
    command: str  # approve, edit, reject, answer, dismiss, kill, recover, cancel
    args: dict[str, Any]
    enabled: bool


class NowLine(TypedDict):
    """The one sentence: `strong` is its bold beginning. `action` is the label of at most one action of the view."""

    tone: Literal["plain", "amber", "violet", "red"]
    shape: str  # a status word that names the shape: running, waiting, completed, failed, killed, …
    strong: str
    text: str
    action: str | None


class Usage(TypedDict):
    """What the models were asked. Tokens are None where none was reported, the cost where no price is known: never 0.

    `unreported` turns came without tokens and `unpriced` ones without a price: what there is, is then the least.
    """

    model_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost_microdollars: int | None
    unreported: int
    unpriced: int


class BudgetView(TypedDict):
    """The limit that is nearest to being used up; money in dollars. `of` is a run's id, or "bench"."""

    used: float
    limit: float
    unit: str
    of: str


class Life(TypedDict):
    """One activation.

    `how` is None while it lives; "lost" when its host died; `ended_at` is then the last thing it wrote.
    """

    epoch: int
    began_at: float
    ended_at: float | None
    how: str | None
    by: str | None


class Span(TypedDict):
    """One bar on the time axis.

    `how` names the bar: turn, waiting, running, done, failed, cut, replayed. Open when `ended_at` is None.
    """

    began_at: float
    ended_at: float | None
    how: str


class MessageRow(TypedDict):
    """What someone said: `who` is "you", for who asked, or the agent. `turn` is 0 for you.

    `asker` names who asked where it was another than you: the agent above, a caller of a door (mcp:desktop), or a
    person by name. `streaming` while the text still grows.
    """

    kind: Literal["message"]
    id: str
    who: str
    asker: NotRequired[str]
    turn: int
    text: str
    tokens: int | None
    note: NotRequired[str]  # who answered, where others failed before: "answered by b, after a: rate_limit"
    streaming: bool
    replayed: bool
    spans: list[Span]
    took: float | None


class StepRow(TypedDict):
    """A step inside a call. `status`: running, success, failed, interrupted. `key` is its idempotency key."""

    name: str
    key: str
    status: str
    replayed: bool
    ran_again: bool
    spans: list[Span]
    took: float | None


class ApprovalView(TypedDict):
    """A request for a decision and, once there is one, the decision. `status` as in DESIGN 3."""

    id: str
    run: str
    key: str
    agent: str
    chain: list[str]  # who asked whom, then the tool: supervisor, writer, send_mail
    tool: str
    call: str  # the id of the CallRow
    turn: int
    position: int  # among the calls of the turn
    asks: str  # tool_call: may it run? input_required: what is the value?
    sentence: str  # what it will do, from the tool's description and arguments; or the question
    act: str  # "Changes data." or "Reads only."
    risk: str  # read_only, changes, destructive; none for a question
    message: str  # why a person is asked, where a rule of the policy or an edit that failed says so
    args: dict[str, Any]
    secret: list[str]  # where the secret ones stand, as pointers: shown as dots
    digest: str  # of the arguments; a decision about others is refused
    schema: dict[str, Any]  # JSON schema of the arguments, or of the value that is asked for
    asked_at: float
    expires_at: float | None
    on_expiry: str  # deny: the model is told that no decision came in time
    status: str
    decided_by: str | None  # who by name, "rule" or "timeout"
    via: str | None
    rule_id: str | None  # the rule of the policy that decided
    reason: str | None
    decided_at: float | None
    effective_args: dict[str, Any] | None
    value: Any  # what was answered
    actions: list[Action]


class RuleView(TypedDict):
    """A rule that a person wrote and that is in force. `scope` is run, session or notebook."""

    id: str
    sentence: str
    action: str
    scope: str
    by: str
    at: float
    actions: list[Action]


class ChildRow(TypedDict):
    """A run that a call asked, as it stands now."""

    id: str
    agent: str
    status: str


class CallRow(TypedDict):
    """A tool call.

    `status`: waiting (for a person), running, success, failed, denied, interrupted, retried; `result` is plain.
    """

    kind: Literal["call"]
    id: str  # "t1.0": turn and position
    turn: int
    tool: str
    args: dict[str, Any]
    call_id: str
    status: str
    note: str  # "approved by you", "the model was told", ""
    steps: list[StepRow]
    progress: list[str]
    stdout: NotRequired[str]  # what the tool printed, if anything
    result: Any
    error: dict[str, Any] | None  # type, message, traceback
    approval: ApprovalView | None  # of the call, or the one that a run it asked waits for
    children: list[ChildRow]  # the runs that it asked
    secret: NotRequired[list[str]]  # where the secret arguments stand, as pointers: shown as dots
    replayed: bool
    spans: list[Span]
    took: float | None


class RecoveryPart(TypedDict):
    """One line of what Recover will do."""

    part: str
    has: str  # what the journal has
    does: str  # what Recover does


class RecoveryGroup(TypedDict):
    """`group`: replayed, runs again, interrupted, still waits. Groups come in this order, empty ones are left out."""

    group: str
    count: int
    parts: list[RecoveryPart]


class RunView(TypedDict):
    """A run as a person sees it.

    `status` is the last one that is true in the journal; `alive` is False for a killed run.
    """

    kind: Literal["run"]
    id: str
    key: str
    agent: str
    holder: str  # the agent that has the run now, after a hand-off another one
    stages: StageGraph | None  # of an agent whose stages are declared
    model: str
    status: str
    alive: bool
    killed_at: float | None
    killed_by: str | None
    elsewhere: str | None  # "pid 5230" while another host runs it
    now: float  # the clock when this was made
    request: str
    fork: NotRequired[dict[str, Any]]  # of a fork: of, before, edited, with, at, saved
    began_at: float
    ended_at: float | None
    lives: list[Life]
    usage: Usage
    budget: BudgetView | None
    now_line: NowLine
    rows: list[MessageRow | CallRow]
    recovery: list[RecoveryGroup]
    output: list[str]  # lines printed by the run
    result: Any
    error: dict[str, Any] | None
    committed: int  # events that are in the journal
    uncommitted: int  # events shown that are not
    actions: list[Action]


class ApprovalsView(TypedDict):
    """The inbox: pending ones expiring first, then oldest; decided ones newest first."""

    kind: Literal["approvals"]
    now: float
    pending: list[ApprovalView]
    decided: list[ApprovalView]
    decided_total: int
    rules: list[RuleView]
    now_line: NowLine
    actions: list[Action]


class TeamNode(TypedDict):
    """A place in a team: an agent under whoever asks it, or a tool that it called; `runs` are those there.

    `status` is a run's, killed, or "not started"; of a tool a call's, or pending. `column` and `slot` are where it
    stands. `part` is what it is there: supervisor, "stage writing", asked, takes over, tool.
    """

    id: str
    kind: Literal["agent", "tool"]
    name: str
    part: str
    status: str
    runs: list[str]
    calls: int
    usage: Usage
    took: float | None
    waits_for: str | None  # the tool that a person is asked about
    active: bool
    column: int
    slot: float


class TeamEdge(TypedDict):
    """Who asked whom. `how`: done, active, or open while nobody was asked."""

    source: str
    target: str
    label: str
    how: str


class TeamRow(TypedDict):
    """One run of a team, or an agent that nobody asked yet."""

    id: str
    node: str
    depth: int
    agent: str
    called_by: str
    part: str
    status: str
    usage: Usage
    spans: list[Span]
    took: float | None
    active: bool


class TeamView(TypedDict):
    """A team as a person sees it: facts of all of it, who asked whom, and each run."""

    kind: Literal["team"]
    id: str
    agent: str
    status: str
    alive: bool
    killed_by: str | None
    now: float
    request: str
    began_at: float
    ended_at: float | None
    agents: int
    active: int  # runs that are at work
    usage: Usage
    budget: BudgetView | None
    stages: StageGraph | None
    nodes: list[TeamNode]
    edges: list[TeamEdge]
    columns: int
    slots: int
    rows: list[TeamRow]
    pending: list[ApprovalView]
    now_line: NowLine
    actions: list[Action]


class ProcessView(TypedDict):
    """A process as a person sees it."""

    kind: Literal["process"]
    name: str
    key: str | None
    status: str
    alive: bool
    elsewhere: str | None
    now: float
    epoch: int | None
    pending: int
    next_wake: float | None
    error: dict[str, Any] | None
    state: Any
    changed: list[str]  # JSON pointers that the last yield changed
    stages: NotRequired[StageGraph | None]  # of one whose stages are declared
    committed: bool  # whether the state shown is in the journal
    now_line: NowLine
    lives: list[Life]
    actions: list[Action]
