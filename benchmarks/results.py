"""The results of the README: what each shipped agent takes from copies of the others.

    for game in english marquoir russian; do
        python -m train.evaluate --variant $game --players 4 --agents $game --deals 1000 --seed 1 \
            --against random honest honest_guard caller dumper bluffer skeptic counter \
            odds reader planner prudent --out docs/evaluations/$game
    done
    python benchmarks/results.py docs/evaluations/*/evaluation.json --readme README.md

Without `--readme` it prints them; with `--conduct` it prints when the agents lie and challenge.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.registry import HELD_OUT
from cheat_env.files import write_text

#: Sizes of hands that are told together, and of claims; rates of fewer chances are chance.
HANDS = {"1-3": slice(0, 3), "4-7": slice(3, 7), "8-13": slice(7, 13), "14+": slice(13, 14)}
SIZES = ("1", "2", "3", "4+")
FEWEST = 50
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="evaluation.json")
    parser.add_argument("--readme", type=Path, help="replace its results by these")
    parser.add_argument("--conduct", action="store_true", help="print how they play instead")
    options = parser.parse_args(arguments)
    documents = [json.loads(path.read_text("utf-8")) for path in options.files]
    if options.conduct:
        print("\n\n".join(map(conduct, documents)))
        return
    text = results(documents)
    if options.readme is None:
        print(text)
    else:
        write_text(options.readme, replaced(options.readme.read_text("utf-8"), text))


def replaced(readme: str, text: str) -> str:
    """Return a README with other results."""
    begin, end = readme.index(BEGIN) + len(BEGIN), readme.index(END)
    return f"{readme[:begin]}\n{text}\n{readme[end:]}"


def results(documents: Sequence[dict[str, Any]]) -> str:
    """Return a table of all evaluations, one row an opponent, as Markdown."""
    columns = {d["cells"][0]["variant"]: _column(d) for d in documents}
    opponents = [c["lineup"][1] for c in documents[0]["cells"]]
    lines = [
        "| three of | " + " | ".join(_heading(d["cells"][0]) for d in documents) + " |",
        "|---" * (len(documents) + 1) + "|",
    ]
    for name in opponents:
        star = "*" if name in HELD_OUT else ""
        cells = " | ".join(columns[game][name] for game in columns)
        lines.append(f"| `{name}`{star} | {cells} |")
    cells = [c for d in documents for c in d["cells"]]
    cut = max(cells, key=lambda c: c["truncated"] / (c["deals"] * c["players"]))
    deals = " and ".join(
        sorted({f"{c['deals']:,} deals x {c['players']} rotations" for c in cells})
    )
    lines += [
        "",
        f"{deals} each; intervals are of 95%, clustered by deal, the larger side shown. The rules"
        " with a star took part in no training. Truncated deals don't count; they were at most"
        f" {100 * cut['truncated'] / (cut['deals'] * cut['players']):.1f}%"
        f" ({cut['variant']}, `{cut['lineup'][1]}`).",
    ]
    return "\n".join(lines)


def conduct(document: dict[str, Any]) -> str:
    """Return when an agent lies and challenges, one row an opponent, in %, as Markdown."""
    columns = [f"{name} cards" for name in HANDS]
    columns += [f"claims {size}" for size in SIZES] + [f"asked {size}" for size in SIZES]
    lines = [
        f"### {document['cells'][0]['variant']}",
        "",
        "| three of | lies free | " + " | ".join(columns) + " | challenges | right |",
        "|---" * (len(columns) + 4) + "|",
    ]
    for cell in document["cells"]:
        own = cell["agents"][cell["lineup"][0]]
        count = own["counts"]
        rates = [_rate(count["lies_free"], count["free"])]
        for hands in HANDS.values():
            free, lies = (sum(row[i] for row in own["lies_by_hand"][hands]) for i in range(2))
            rates.append(_rate(lies, free))
        rates += [_rate(lies, made) for made, lies in own["lies_by_size"]]
        rates += [_rate(called, asked) for asked, called, _ in own["challenges_by_size"]]
        rates += [_rate(count["challenges"], count["asked"])]
        rates += [_rate(count["right"], count["challenges"])]
        lines.append(f"| `{cell['lineup'][1]}` | " + " | ".join(rates) + " |")
    return "\n".join(lines)


def _rate(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}" if whole >= FEWEST else "-"


def _heading(cell: dict[str, Any]) -> str:
    """Return what a column shows: deals won, lost, or both where the game names losers too."""
    fair = 100 / cell["players"]
    what = {"winner": "won", "last": "lost"}.get(cell["scoring"], "won / lost")
    return f"`{cell['variant']}`: % {what} (equal share {fair:.0f})"


def _column(document: dict[str, Any]) -> dict[str, str]:
    """Return what an agent took, by opponent."""
    found = {}
    for cell in document["cells"]:
        own = cell["agents"][cell["lineup"][0]]
        kinds = {"winner": ("share",), "last": ("lost",)}.get(cell["scoring"], ("share", "lost"))
        found[cell["lineup"][1]] = " / ".join(_estimate(own[kind]) for kind in kinds)
    return found


def _estimate(found: dict[str, float | None]) -> str:
    mean, low, high = found["mean"], found["low"], found["high"]
    if mean is None or low is None or high is None:
        return "-"
    return f"{100 * mean:.1f} ±{100 * max(high - mean, mean - low):.1f}"


if __name__ == "__main__":
    main()
