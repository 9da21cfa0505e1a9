"""How exploitable runs were on the way: a picture of their panel's `exploitability`.

python benchmarks/curve.py runs/miniature runs/miniature-2 --out docs/miniature.svg
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="DIR", help="directories of runs")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    mpl.rcParams["svg.hashsalt"] = "the same bytes every time"
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for run in options.runs:
        with (run / "panel.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        decisions = [int(row["decisions"]) / 1e6 for row in rows]
        axes.plot(decisions, [float(row["exploitability"]) for row in rows], label=run.name)
    axes.set(xlabel="decisions, millions", ylabel="exploitability", yscale="log")
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False)
    figure.savefig(options.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
