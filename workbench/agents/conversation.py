"""A conversation as a person holds it: what was said in it, the runs that said it, and the next one.

- `bench.conversations` lists them, `bench.conversation("c")` is one of them, whether anything was said in it or not.
- One that belongs to somebody else is as one that there is not; the owner of the bench sees them all.
- What was said is read from the store, and from a run that is at work while it is.

Source: DESIGN 2. Knows nothing of windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.context import Principal, principal_or_none
from workbench.agents.conversations import SUPERSEDES
from workbench.agents.history import spoken, unpacked
from workbench.agents.loop import FINAL
from workbench.errors import BadInput, NoCode
from workbench.given import named
from workbench.plain import decode
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.agents.agent import Agent
    from workbench.agents.run import Run
    from workbench.agents.runs import Runs
    from workbench.store.conversations import ConversationStore, Exchange

__all__ = ["Conversation", "ConversationTable"]


class Conversation:
    """One conversation of one principal. `await conversation.run(agent, "…")` goes on with it."""

    def __init__(self, id: str, principal: Principal, runs: Runs) -> None:
        self.id = id
        self.principal = principal
        self._runs = runs

    @property
    def _store(self) -> ConversationStore:
        return self._runs.studio.runtime.store.conversations

    def _exchanges(self) -> list[Exchange]:
        return self._store.exchanges_now(self.principal.account, self.id)

    def run(self, agent: Agent, request: str, *, id: str | None = None, supersede: bool = False) -> Run:
        """The next run of the conversation, as `bench.run` begins it. Raises: as that."""
        more = {SUPERSEDES: True} if supersede else None
        return self._runs.start(agent, request, id=id, conversation=self.id, principal=self.principal, more=more)

    @property
    def runs(self) -> list[Run]:
        """Its runs, in the order in which they take their turns."""
        return [run for each in self._exchanges() if (run := self._runs.by_key(each.key)) is not None]

    @property
    def messages(self) -> Table:
        """What was said, in order: a table of `run`, `who` (`you` or `agent`), `text` and `at`; tool rounds left out.

        Of runs that are not over it has what was asked, and what they have said so far.
        """
        rows: list[dict[str, Any]] = []
        for each in self._exchanges():
            run = self._runs.by_key(each.key)
            said = self._said(each, run)
            id = each.key if run is None else run.id
            rows += [{"run": id, "who": who, "text": text, "at": each.at} for who, text in said]
        return Table(rows, columns=("run", "who", "text", "at"))

    @staticmethod
    def _said(exchange: Exchange, run: Run | None) -> list[tuple[str, str]]:
        if exchange.content is not None:
            return spoken(unpacked(decode(exchange.content)["messages"]))
        if run is None:
            return []
        state = run.state
        now = [("agent", text) for text in (state["text"], *[state["output"]] * (state["status"] in FINAL)) if text]
        return [("you", run.request), *((who, str(text)) for who, text in now)]

    async def forget(self) -> bool:
        """Forget what was said in it; its runs stay in the store until they are deleted. False when nothing was said.

        Raises: BadInput while a run of it is not over.
        """
        open_runs = [run.id for run in self.runs if run.status not in FINAL]
        if open_runs:
            raise BadInput(f"conversation {self.id!r} has runs that are not over: {open_runs}; cancel them first")
        return await self._store.forget(self.principal.account, self.id)

    def __len__(self) -> int:
        return len(self._exchanges())

    def __repr__(self) -> str:
        return f"<Conversation {self.id} of {self.principal}: {len(self)} runs>"

    def _repr_html_(self) -> str:
        return self.messages._repr_html_()


class ConversationTable:
    """The conversations of a bench: `bench.conversations()` is a table, and iterating gives each one."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __call__(self, *, principal: Principal | None = None) -> Table:
        """Every conversation that `principal` may see, all without one, in the order in which they began."""
        columns = ("conversation", "principal", "runs", "status", "began", "at")
        return Table(self._rows(principal), columns=columns)

    def _rows(self, principal: Principal | None) -> Iterator[dict[str, Any]]:
        principal_or_none(principal)
        account = None if principal is None or principal.is_owner else principal.account
        for info in self._runs.studio.runtime.store.conversations.conversations_now(account):
            newest = self._runs.by_key(info.newest)
            yield {
                "conversation": info.name,
                "principal": info.owner,
                "runs": info.exchanges,
                "status": None if newest is None else newest.status,
                "began": info.first_at,
                "at": info.last_at,
            }

    def get(self, id: str, principal: Principal | None = None) -> Conversation:
        """The conversation of that name of a principal, the owner if none is named. Raises: BadInput, NoCode."""
        found = Conversation(named("a conversation", id), principal_or_none(principal) or Principal(), self._runs)
        if not len(found):
            raise NoCode(f"no conversation {id!r} in this store; bench.conversations() lists them", name=id)
        return found

    def __iter__(self) -> Iterator[Conversation]:
        for info in self._runs.studio.runtime.store.conversations.conversations_now():
            yield Conversation(info.name, Principal.of_account(info.owner), self._runs)

    def __len__(self) -> int:
        return len(self._runs.studio.runtime.store.conversations.conversations_now())

    def __repr__(self) -> str:
        return repr(self())

    def _repr_html_(self) -> str:
        return self()._repr_html_()
