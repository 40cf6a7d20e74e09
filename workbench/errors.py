"""The error vocabulary: every failure that the workbench itself raises.

    WorkbenchError                      an Exception; the caller can act on it
    ├── BadInput(ValueError)            what was handed over cannot be used; nothing happened
    │   ├── NotPlain                    a value that the journal cannot hold, named by its path
    │   ├── ToolArgumentsInvalid        arguments that the tool's schema refuses
    │   └── NoCode(LookupError)         a definition, agent or tool that this bench does not have
    ├── StoreError                      the store cannot be opened or written
    │   ├── NotAStore                   the path is a directory, or the file is something else
    │   └── OwnedElsewhere              another live host owns the key
    ├── ProcessError
    │   ├── CallRefused                 the call was not taken, and never will be
    │   ├── ProcessEnded                the process is done, crashed or disposed
    │   ├── CallConflict                one id, two different messages
    │   └── DeadLettered                the call's message was set aside
    ├── QueueError
    │   ├── JobConflict                 one key, two different jobs
    │   └── LeaseLost                   the job belongs to a later lease
    ├── StepError
    │   ├── StepMisuse                  a step where none can be
    │   ├── StepFailed                  a recorded failure of a step
    │   └── Drift                       the code asks for other steps than the journal has
    ├── RunError
    │   ├── RunFailed, RunCancelled, RunInterrupted
    │   └── NeedsDecision               this kernel cannot take a click while a cell waits
    ├── BudgetSpent                     a budget has less left than was asked for
    ├── ModelFailed                     a model gave no turn that can be used
    ├── ToolFailed                      a tool of another server failed, in its words
    ├── ApprovalError
    │   ├── NoSuchApproval(LookupError)
    │   ├── AlreadyDecided
    │   ├── NeedsApproval               raised by a tool that wants a person's yes
    │   └── NotAnswered                 a tool's question was closed without an answer
    └── NotebookError                   what a notebook under test did
        ├── CellFailed                  a cell raised and was not expected to
        ├── KernelDied                  there is no kernel to run or click in
        ├── NotShown(LookupError)       no such tag, view or label
        ├── ClickRefused                the kernel refused what a button sent
        └── TookTooLong(TimeoutError)   what was waited for did not come in time

    Signal                              a BaseException; ends an activation, never caught by `except Exception`
    ├── Fenced                          a newer activation owns the key
    ├── Disposed                        the process was disposed
    └── StoreBroken                     a write failed; the activation is over

A message is one sentence: the thing by its key, what was found, what was expected, the next move. Fields carry the
parts.
"""

from __future__ import annotations

import builtins

__all__ = [
    "AlreadyDecided",
    "ApprovalError",
    "BadInput",
    "BudgetSpent",
    "CallConflict",
    "CallRefused",
    "CellFailed",
    "ClickRefused",
    "DeadLettered",
    "Disposed",
    "Drift",
    "Fenced",
    "JobConflict",
    "KernelDied",
    "LeaseLost",
    "LinkError",
    "ModelFailed",
    "NeedsApproval",
    "NeedsDecision",
    "NoCode",
    "NoSuchApproval",
    "NotAStore",
    "NotAnswered",
    "NotPlain",
    "NotShown",
    "NotebookError",
    "OwnedElsewhere",
    "ProcessEnded",
    "ProcessError",
    "QueueError",
    "RunCancelled",
    "RunError",
    "RunFailed",
    "RunInterrupted",
    "Signal",
    "StepError",
    "StepFailed",
    "StepMisuse",
    "StoreBroken",
    "StoreError",
    "TookTooLong",
    "ToolArgumentsInvalid",
    "ToolFailed",
    "WorkbenchError",
]


LENGTH = 8000
"""Characters of a message, at most."""


class WorkbenchError(Exception):
    """Base of every error that a caller can act on. Fields given by name are kept as attributes."""

    def __init__(self, message: str, /, **fields: object) -> None:
        super().__init__(_readable(message))
        self.fields = fields

    def __getattr__(self, name: str) -> object:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None


def _readable(message: str) -> str:
    """The message, whose middle is left out when what it shows is longer than anybody reads."""
    left_out = len(message) - LENGTH
    if left_out <= 0:
        return message
    return f"{message[: LENGTH // 2]}… {left_out} characters …{message[-LENGTH // 2 :]}"


class BadInput(WorkbenchError, ValueError):
    """What was handed over cannot be used. Nothing happened; mend it and call again."""


class NotPlain(BadInput, TypeError):
    """A value that the journal cannot hold. Nothing was written. Fields: `path`, `found`."""


class ToolArgumentsInvalid(BadInput):
    """The arguments of a tool call do not fit its schema. The tool did not run.

    Fields: `tool`, `problems` (a list of `{"parameter", "found", "expected"}`), and `parameter`, `found`, `expected` of
    the first.
    """


class NoCode(BadInput, LookupError):
    """This bench has no such definition, agent or tool. Add it with `bench.add(...)` or re-run its cell.

    Field: `name`.
    """


class StoreError(WorkbenchError):
    """The store cannot be opened, read or written. Nothing was acknowledged that is not in it."""


class NotAStore(StoreError):
    """The path is no store: a directory, a corrupt file, or another program's database. It was left as found.

    Field: `path`.
    """


class OwnedElsewhere(StoreError):
    """Another live host owns the key. Nothing was changed. Fields: `key`, `owner`."""


class ProcessError(WorkbenchError):
    """Something about a process: its phase, its calls, its messages."""


class CallRefused(ProcessError):
    """The call was not taken and no work was done for it: no case takes it, it has no id, or it was dropped.

    Field: `key`.
    """


class ProcessEnded(ProcessError):
    """The process is done, crashed or disposed; a call to it has no answer. Fields: `name`, `status`."""


class CallConflict(ProcessError):
    """One call id with two different messages. The first stays as it is.

    Fields: `key`, `id`, `first`, `second` (their digests), `stored` (the first message while it is kept, else None).
    """


class DeadLettered(ProcessError):
    """The message of this call was set aside after its attempts were used up. Fields: `key`, `seq`, `error`."""


class QueueError(WorkbenchError):
    """Something about a job of a queue. Field: `queue`."""


class JobConflict(QueueError):
    """One key with two different bodies. The first job stays as it is. Fields: `queue`, `key`, `job`."""


class LeaseLost(QueueError):
    """The job is not the caller's any more: a later lease has it, or it is over. Nothing was changed.

    Fields: `queue`, `job`, `number`, `status`.
    """


class StepError(WorkbenchError):
    """Something about a step."""


class StepMisuse(StepError):
    """A step where none can be: outside a message, or in a task that has no branch of its own. It did not run.

    Field: `name`.
    """


class StepFailed(StepError):
    """A step's failure as the journal holds it. Fields: `type`, `message`, `traceback`, `retryable`.

    `retryable` is False when another try could not have mended it.
    """

    @property
    def builtin(self) -> type[BaseException] | None:
        """Python's own exception of the name `type`, such as ValueError, or None when it is not one of Python's."""
        kind = getattr(builtins, str(self.fields["type"]), None)
        return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


class Drift(StepError):
    """The code asks for other steps than the journal has. The step did not run.

    Fields: `key`, `seq`, `asked`, `recorded`.
    """


class RunError(WorkbenchError):
    """How a run ended, for who awaited it. Field: `run` (its id)."""


class RunFailed(RunError):
    """The run ended with an error. Fields: `run`, `type`, `message`, `traceback`."""


class RunCancelled(RunError):
    """The run was cancelled for good. Field: `run`."""


class RunInterrupted(RunError):
    """The run was killed, or its host closed. The journal has it; `await run.recover()` carries on. Field: `run`."""


class NeedsDecision(RunError):
    """The run waits for an approval that this kernel cannot take while a cell waits. Field: `run`."""


class BudgetSpent(WorkbenchError):
    """A budget has less left than was asked for; nothing was spent. Extend it, or do with less.

    Fields: `of` ("bench", or the key of the run whose budget it is), `unit`, `limit`, `asked`, `left`.
    """


class ModelFailed(WorkbenchError):
    """A model gave no turn that can be used; nothing of it is to be kept but what it cost.

    `kind` says why: connection, rate_limit, server, rejected (by the provider, or the model declined), cut_short (the
    stream ended early), length (the output limit cut its tool calls), empty (neither text nor calls), script (a
    scripted or recorded model has no such turn). Fields: `kind`, `retryable`, `status` (HTTP, or None), `retry_after`
    (seconds, or None), `input_tokens`, `output_tokens`, `cost_microdollars`.
    """


class ToolFailed(WorkbenchError):
    """A tool of another server failed, in its own words. Field: `tool`."""


class ApprovalError(WorkbenchError):
    """Something about an approval."""


class NoSuchApproval(ApprovalError, LookupError):
    """No approval has this id in this store. Field: `id`."""


class AlreadyDecided(ApprovalError):
    """The first decision stands. Fields: `id`, `status`, `by`, `at`."""


class NeedsApproval(ApprovalError):
    """A tool raises it to have a person decide about its call; once there is a yes it runs again, `ctx.approved`.

    Its message is the reason that the person reads.
    """


class NotAnswered(ApprovalError):
    """The question of a tool was closed without an answer: it was dismissed or rejected, or it expired.

    Fields: `id`, `status`, `by`, `reason`.
    """


class LinkError(WorkbenchError):
    """A server or a host at the other end of a link cannot be reached, or refuses. Field: `place`."""


class NotebookError(WorkbenchError):
    """Something that a notebook under test did. Field: `notebook` (its name)."""


class CellFailed(NotebookError):
    """A cell raised without the tag `raises-exception`. Its outputs are kept.

    Fields: `cell`, `ename`, `evalue`, `traceback`.
    """


class KernelDied(NotebookError):
    """There is no kernel any more; outputs so far are kept. `await nb.restart()` starts another.

    Field: `cell` (what ran, or None).
    """


class NotShown(NotebookError, LookupError):
    """The notebook shows no such tag, view or label. Nothing was sent. Fields: `asked`, `found`."""


class ClickRefused(NotebookError):
    """The kernel refused what the button sent, in its own words. Fields: `label`, `view`, `error`."""


class TookTooLong(NotebookError, TimeoutError):
    """What was waited for did not come in time; what runs goes on. Fields: `what`, `seconds`."""


class Signal(BaseException):
    """Ends an activation. A BaseException, so that a body's `except Exception` cannot swallow it.

    Source: DESIGN rule 9.
    """

    def __init__(self, message: str, /, **fields: object) -> None:
        super().__init__(_readable(message))
        self.fields = fields


class Fenced(Signal):
    """A newer activation owns the key. Nothing was written. Fields: `key`, `epoch`."""


class Disposed(Signal):
    """The process was disposed; what it awaited is over."""


class StoreBroken(Signal):
    """A write of this activation failed; it is over. Nothing after that write was acknowledged."""
