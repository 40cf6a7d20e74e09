"""Everything that is measured, one after the other, and the picture of it for the README.

    make bench
    python benchmarks/run_all.py [--rounds 3] [--out DIRECTORY] [--dir DIRECTORY] [--picture docs/speed]

Writes the JSON of each benchmark to `--out`, and with `--picture` the same picture for light and dark pages
(`NAME-light.svg`, `NAME-dark.svg`). A benchmark that fails stops everything: figures of half a run mean nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
PARTS = ("store", "durable", "weight", "beside", "queues", "agents")
PRINTED = ("waiting",)
"""Those that only print what they found."""

INK = {"light": ("#1f2328", "#0969da", "#8c959f"), "dark": ("#e6edf3", "#4493f8", "#7d8590")}


def run(part: str, rounds: int, place: Path, out: Path) -> None:
    """One benchmark, its table printed and its JSON kept."""
    command = [sys.executable, str(HERE / f"{part}.py"), "--rounds", str(rounds), "--dir", str(place)]
    subprocess.run([*command, "--json", str(out / f"{part}.json")], check=True)
    print(flush=True)


def draw(lines: list[dict[str, Any]], name: Path) -> None:
    """Ours beside each peer, as rates on a logarithmic axis."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    for theme, (ink, accent, grey) in INK.items():
        figure, axes = pyplot.subplots(figsize=(7.2, 0.85 * len(lines) + 0.6), layout="constrained")
        for row, line in enumerate(reversed(lines)):
            ours, theirs = median(line["ours"]), median(line["theirs"])
            for at, rate, colour, who in (
                (row + 0.2, ours, accent, "workbench"),
                (row - 0.2, theirs, grey, line["peer"]),
            ):
                axes.barh(at, rate, 0.36, color=colour)
                axes.text(rate * 1.06, at, f"{who}, {rate:,.0f} {line['unit']}", color=ink, va="center", fontsize=9)
        names = [f"{line['name']}\n{line['ratio']:.0f} times" for line in reversed(lines)]
        axes.set_yticks(range(len(lines)), names, color=ink, fontsize=9)
        axes.set_xscale("log")
        axes.set_xlim(left=1, right=max(median(line["ours"]) for line in lines) * 60)
        axes.tick_params(colors=ink, labelsize=8, length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        figure.savefig(name.with_name(f"{name.name}-{theme}.svg"), transparent=True, metadata={"Date": None})
        pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("artifacts/benchmarks"), help="where the JSON goes")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()), help="a directory on a disk")
    parser.add_argument("--picture", type=Path, help="the picture's path, without -light.svg")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        run(part, options.rounds, options.dir, options.out)
    for part in PRINTED:
        subprocess.run([sys.executable, str(HERE / f"{part}.py"), "--dir", str(options.dir)], check=True)
        print(flush=True)
    if options.picture:
        draw(json.loads((options.out / "beside.json").read_text()), options.picture)
    print(f"the figures of every round are in {options.out}")


if __name__ == "__main__":
    main()
