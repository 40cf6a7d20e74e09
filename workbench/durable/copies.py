"""Copies: a key with everything of it as a file, and back into a store.

The format, version 1, is JSON lines. Each line is `{"row": {…}, "digest": "…"}`; the digest is BLAKE2b (16 bytes, hex)
of the digest before and the canonical text of the row, so a line that was changed, moved or left out is known by its
number. The first row is `{"row": "header", "format": "workbench key", "version": 1, …}`, the last
`{"row": "end", "rows": n}`; between them are the rows of `workbench.store.upkeep.ROWS`, the key first. Payloads are the
texts of the journal, to the letter; what a commit keeps is the language of `workbench.store.past`.

A file is read twice: judged to its end, then brought in by one transaction. Digests tell damage from intent, they are
no signature: what a row says is checked whatever its digest. Source: DESIGN rule 10. Knows nothing of tables.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, get_args, get_type_hints

from workbench.errors import BadInput, NoCode
from workbench.plain import SIZE, canonical
from workbench.store.journal import StepRecord
from workbench.store.upkeep import ROWS, CopyRow
from workbench.words import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.store.store import Store

__all__ = ["FORMAT", "VERSION", "export_key", "import_key"]

FORMAT, VERSION = "workbench key", 1
LONGEST = 7 * SIZE
"""Characters of a line: the largest value with every character escaped."""

KINDS = frozenset(("message", "commit", *get_args(get_type_hints(StepRecord)["kind"])))
WIDE = 1 << 62
ONCE = {
    "call": ("call_id",),
    "record": ("kind", "id"),
    "message": ("seq",),
    "step": ("seq", "branch", "name", "occurrence"),
}
"""The columns by which there is one row of a sort, or one entry of a kind."""


async def export_key(store: Store, key: str, path: str | os.PathLike[str], *, at: float) -> int:
    """Write a key to a new file, as it is committed now; gives how many rows it has.

    Raises: NoCode for an unknown key, BadInput when the file is there already or cannot be written.
    """
    if await store.key_info(key) is None:
        raise NoCode(f"no key {key!r} in this store; bench.keys() lists them", name=key)
    return await asyncio.to_thread(_write, store.upkeep.copy(key), _file(path), at)


def _file(path: object) -> Path:
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name or "\0" in name or not is_whole(name):
        raise BadInput(f"a file is named by a path, found {path!r}; write e.g. 'order.jsonl'")
    return Path(name).expanduser()


def _write(rows: Iterator[CopyRow], path: Path, at: float) -> int:
    try:
        file = path.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise BadInput(f"{str(path)!r} is there already; an export overwrites nothing, name another file") from None
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written ({error.strerror}); name another file") from error
    try:
        with file:
            count = _write_rows(rows, file, at)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(FileNotFoundError):
            path.unlink()
        raise
    return count


def _write_rows(rows: Iterator[CopyRow], file: TextIO, at: float) -> int:
    count, mark = 0, _write_line(file, {"row": "header", "format": FORMAT, "version": VERSION, "exported_at": at}, "")
    for count, row in enumerate(rows, 1):  # noqa: B007 - the number of the last row is the count
        mark = _write_line(file, row, mark)
    _write_line(file, {"row": "end", "rows": count}, mark)
    return count


def _write_line(file: TextIO, row: CopyRow, mark: str) -> str:
    mark = _digest(row, mark)
    file.write(json.dumps({"row": row, "digest": mark}, separators=(",", ":")) + "\n")
    return mark


def _digest(row: CopyRow, before: str) -> str:
    return hashlib.blake2b(before.encode() + canonical(row, "row").encode(), digest_size=16).hexdigest()


async def import_key(store: Store, path: str | os.PathLike[str], *, read_only: bool) -> str:
    """Bring the key of a file in, whole or not at all; gives its key.

    Raises: BadInput naming the line of a file that was changed or cut off, or what is in the store already.
    """
    file = _file(path)
    rows = await asyncio.to_thread(_read, file)
    there = await store.upkeep.restore(rows, read_only=read_only)
    if there is not None:
        raise BadInput(
            f"{str(file)!r} was not imported: {there} is in this store already; delete it first, or import into another"
        )
    key: str = rows[0]["key"]
    return key


def _read(path: Path) -> list[CopyRow]:
    """The rows of a file. Raises: BadInput, naming the line."""
    rows: list[CopyRow] = []
    mark, ended = "", False
    seen: dict[tuple[str, ...], int] = {}
    for number, text in enumerate(_lines(path), 1):
        where = f"{str(path)!r}, line {number}"
        if ended:
            raise BadInput(f"{where} is behind the end; the file was changed, export the key again")
        row, digest = _parsed(text, where)
        mark = _digest(row, mark)
        if digest != mark:
            raise BadInput(f"{where} does not fit its digest; it was changed by hand, export the key again")
        if number == 1:
            _judge_header(row, where)
        elif row["row"] == "end":
            ended = True
            if row.get("rows") != len(rows):
                raise BadInput(f"{where} says {row.get('rows')!r} rows and there are {len(rows)}; export the key again")
        else:
            _judge_row(row, rows, where)
            _judge_once(row, seen, number, where)
            rows.append(row)
    if not ended or not rows:
        raise BadInput(f"{str(path)!r} ends without its last row; it was cut off, export the key again")
    _judge_log(rows, str(path))
    return rows


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            while text := file.readline(LONGEST + 1):
                if len(text) > LONGEST:
                    raise BadInput(f"{str(path)!r} has a line of more than {LONGEST} characters; it is no export")
                yield text
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{str(path)!r} cannot be read as an export ({error}); name a file of bench.export") from error


def _parsed(text: str, where: str) -> tuple[CopyRow, object]:
    try:
        line = json.loads(text)
        row, digest = line["row"], line["digest"]
        if len(line) != 2 or type(row) is not dict or type(row.get("row")) is not str:
            raise ValueError("it is no row")
        canonical(row)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        cut = "" if text.endswith("\n") else "; the file was cut off there"
        raise BadInput(f"{where} is no line of an export ({error}){cut}; export the key again") from error
    return row, digest


def _judge_header(row: CopyRow, where: str) -> None:
    if row["row"] != "header" or row.get("format") != FORMAT:
        raise BadInput(f"{where} is not the header of an export; name a file of bench.export")
    if row.get("version") != VERSION:
        raise BadInput(f"{where}: the format has version {row.get('version')!r}, known is {VERSION}; update workbench")


def _judge_row(row: CopyRow, rows: list[CopyRow], where: str) -> None:
    columns = ROWS.get(row["row"])
    if columns is None or (row["row"] == "key") != (not rows):
        raise BadInput(f"{where}: a row {row['row']!r} cannot be there; export the key again")
    if row.keys() != {"row", *columns}:
        found = ", ".join(sorted(row.keys() ^ {"row", *columns}))
        raise BadInput(
            f"{where}: the row {row['row']!r} has missing or unknown columns ({found}); export the key again"
        )
    for column, kinds in columns.items():
        value = row[column]
        if type(value) not in kinds or (type(value) is int and not 0 <= value < WIDE):
            raise BadInput(f"{where}: {column} cannot be {value!r:.40}; export the key again")
        if type(value) is str and not is_whole(value):
            raise BadInput(f"{where}: {column} has half of a character in it; export the key again")
    if row["row"] == "entry":
        _judge_entry(row, where)
    if row["row"] == "key" and not row["key"]:
        raise BadInput(f"{where}: a key is not empty; export the key again")
    if row["row"] == "key" and row["cursor"] > row["last_seq"]:
        found = f"{row['cursor']} of {row['last_seq']}"
        raise BadInput(f"{where}: cursor cannot be behind the last message, found {found}; export the key again")


def _judge_once(row: CopyRow, seen: dict[tuple[str, ...], int], number: int, where: str) -> None:
    """Raises: BadInput for what is in a file already, and can be there once."""
    sort = row["kind"] if row["row"] == "entry" else row["row"]
    if sort == "replaced":  # its message started over, and does its steps again
        for name in [name for name in seen if name[:2] == ("step", str(row["seq"]))]:
            del seen[name]
    if sort in ONCE:
        name = sort, *(str(row[column]) for column in ONCE[sort])
        first = seen.setdefault(name, number)
        if first != number:
            raise BadInput(
                f"{where}: the {sort} {' '.join(name[1:])!r} is there already, in line {first}; export the key again"
            )


def _judge_entry(row: CopyRow, where: str) -> None:
    of_step = row["kind"] not in ("message", "commit")
    needed = ("branch", "name", "occurrence", "position", "began_at", "took", "payload") if of_step else ()
    missing = [column for column in needed if row[column] is None]
    if row["kind"] not in KINDS or missing or (row["kind"] == "message" and row["payload"] is None):
        raise BadInput(f"{where}: a {row['kind']!r} cannot be without {missing or 'payload'}; export the key again")


def _judge_log(rows: list[CopyRow], path: str) -> None:
    """What waits must be whole, or a key could not be continued."""
    key = rows[0]
    waits = [row["seq"] for row in rows if row["row"] == "entry" and row["kind"] == "message"]
    waits = [seq for seq in waits if seq > key["cursor"]]
    if waits != list(range(key["cursor"] + 1, key["last_seq"] + 1)):
        raise BadInput(f"{path!r} has not all messages that {key['key']!r} has still to handle; export the key again")
