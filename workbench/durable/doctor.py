"""The doctor: what is true of a store and of this kernel, and what to do about what is not well.

- Everything is looked at, nothing is changed. What takes long (the check, the measuring) runs off the loop.
- A finding is one sentence and its next move; a report without findings says that all is well.

Source: DESIGN 2 (command line), CASES 40, KERNEL (clicks). Knows nothing of windows.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sqlite3
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.durable.runtime import Runtime
    from workbench.durable.upkeep import Upkeep

__all__ = ["CLICKS", "Finding", "Report", "examine", "versions"]

CLICKS = (7, 4)
"""The ipykernel from which on a click reaches the kernel while a cell awaits, whatever the front end."""

LARGE_WAL = 64 * 1024 * 1024
MEGA = 1_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not well: how bad (`warning` or `error`), what, and what to do about it."""

    level: str
    what: str
    todo: str


@dataclass(slots=True)
class Report:
    """What the doctor saw. `facts` are plain data; `findings` are what is not well, worst first."""

    facts: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def well(self) -> bool:
        """Whether nothing is broken; warnings do not count."""
        return all(finding.level != "error" for finding in self.findings)

    def to_plain(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"well": self.well, **self.facts, "findings": [asdict(finding) for finding in self.findings]}

    def find(self, level: str, what: str, todo: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(level, what, todo))
        self.findings.sort(key=lambda finding: finding.level != "error")

    def __repr__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {_words(value)}" for name, value in self.facts.items()]
        for finding in self.findings:
            lines += [f"{finding.level}: {finding.what}", f"  → {finding.todo}"]
        return "\n".join([*lines, *([] if self.findings else ["all is well"])])


def versions() -> Report:
    """The versions that matter, and whether clicks reach this kernel while a cell awaits."""
    report = Report()
    kernel = _version("ipykernel")
    report.facts["versions"] = {
        "workbench": _version("jupyter-agent-workbench"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "ipykernel": kernel,
    }
    clicks = kernel is not None and tuple(int(part) for part in kernel.split(".")[:2] if part.isdigit()) >= CLICKS
    report.facts["clicks_while_a_cell_awaits"] = clicks
    if not clicks:
        report.find(
            "warning",
            f"ipykernel {kernel or 'is missing'}: in some front ends a click waits until the cell ends",
            "pip install 'ipykernel>=7.4', then restart the kernel",
        )
    return report


async def examine(runtime: Runtime, upkeep: Upkeep, place: str, blocked: dict[str, str]) -> Report:
    """Look at the store and at this bench, which says what is `blocked`."""
    store, report = runtime.store, versions()
    size = await store.upkeep.measure()
    problems = await store.upkeep.check()
    now = runtime.clock.now()
    infos = store.keys_now()
    owned = Counter(info.owner.id for info in infos if info.owner is not None)
    letters = store.letters_now(status="waiting")
    keep = upkeep.retention
    report.facts |= {
        "place": place,
        "file_bytes": size.file,
        "wal_bytes": size.wal,
        "free_bytes": size.free,
        "bytes_by_kind": {kind: asdict(each) for kind, each in size.kinds.items()},
        "oldest_entry": size.oldest,
        "retention": asdict(keep),
        "last_prune": None if upkeep.last is None else asdict(upkeep.last),
        "keys": len(infos),
        "hosts": [
            {
                "id": host.id,
                "label": host.label,
                "pid": host.pid,
                "alive": alive,
                "lease_left": round(host.until - now, 3),
                "keys": owned[host.id],
                "here": host.id == store.host.id,
            }
            for host, alive in store.upkeep.hosts_now()
        ],
        "blocked": blocked,
        "dead_letters": len(letters),
        "quick_check": problems or ["ok"],
    }
    _judge(report, upkeep)
    return report


def _judge(report: Report, upkeep: Upkeep) -> None:
    facts, keep = report.facts, upkeep.retention
    if facts["quick_check"] != ["ok"]:
        report.find(
            "error",
            f"the file is damaged: {'; '.join(facts['quick_check'][:3])}",
            "close every bench on it, copy the file and its -wal, and restore a backup; bench.export(key, path) may "
            "still save single keys",
        )
    if facts["wal_bytes"] > LARGE_WAL:
        report.find(
            "warning",
            f"the write-ahead log has {facts['wal_bytes'] / MEGA:.0f} MB: some program holds an old view of the file",
            "close the programs that read it; the last bench that closes folds the log into the file",
        )
    used = facts["file_bytes"] - facts["free_bytes"]
    if keep.max_bytes is not None and used > keep.max_bytes:
        report.find(
            "warning",
            f"{used} bytes are in use, more than max_bytes={keep.max_bytes}",
            "await bench.prune(), delete keys that are over (bench.keys()), or raise max_bytes",
        )
    if facts["free_bytes"] > max(used, 10 * MEGA):
        report.find(
            "warning",
            f"{facts['free_bytes'] / MEGA:.0f} MB of the file are free and will be written again",
            f"to give them back now, close every bench and run: sqlite3 {facts['place']} VACUUM",
        )
    for key, why in facts["blocked"].items():
        report.find("warning", f"{key!r} has work left and cannot run here: {why}", "bench.add(…) what is missing")
    if facts["dead_letters"]:
        report.find(
            "warning",
            f"{facts['dead_letters']} messages were set aside",
            "see them with bench.dead_letters, then requeue or discard each",
        )
    for host in facts["hosts"]:
        if not host["alive"]:
            report.find(
                "warning",
                f"the host {host['label']!r} is dead and had {host['keys']} keys",
                "nothing: whoever opens the store takes them over",
            )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(_words(each) for each in value) or "none"
    return "none" if value is None else str(value)
