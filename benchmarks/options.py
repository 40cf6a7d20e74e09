"""The options that every benchmark has, and what becomes of them."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from disk import NotADisk, check_disk

__all__ = ["parsed", "parser_of", "write_json"]


def parser_of(doc: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """A parser with `--rounds`, `--json` and `--dir`."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", type=Path, help="write every round to this file")
    parser.add_argument(
        "--dir", type=Path, default=Path(tempfile.gettempdir()), help="where the stores are made; a disk"
    )
    return parser


def parsed(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, str]:
    """What was given, and the kind of disk that `--dir` is on; ends the program for one that is none."""
    options = parser.parse_args()
    try:
        return options, check_disk(options.dir)
    except NotADisk as error:
        raise SystemExit(str(error)) from None


def write_json(path: Path | None, data: list[dict[str, Any]]) -> None:
    """Write the figures to the file, if one was asked for."""
    if path:
        path.write_text(json.dumps(data, indent=1) + "\n")
