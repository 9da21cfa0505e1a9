"""What the parts of the learner are worth: trainings that differ in one part, and what they win.

    python benchmarks/learning.py --config english.yaml --decisions 6_000_000 --seeds 1 2 --out DIR

Every part is trained from each seed, as `python -m train` does it, and evaluated against the same
opponents; what is finished in DIR already is not done again. Printed as Markdown: the mean over the
seeds, and in brackets the least and the most.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: Each part by the words that change the config: what is switched off, or tried instead.
PARTS: dict[str, tuple[str, ...]] = {
    "as configured": (),
    "without the critic": ("--learner.critic=false",),
    "without the value prior": ("--learner.value_prior=false",),
    "entropy stays": ("--learner.final_entropy=0.05",),
    "gamma 1": ("--learner.gamma=1.0",),
    "float32": ("--learner.bfloat16=false",),
    "512 wide": ("--learner.hidden=[512, 512]",),
    "no tallies": ("--learner.blind=[tallies]",),
    "no last claims": ("--learner.blind=[recent]",),
    "no known cards": ("--learner.blind=[known]",),
    "self-play alone": tuple(
        f"--opponents.{late}{kind}_rules=0"
        for late in ("", "late_")
        for kind in ("random", "fixed")
    ),
}
AGAINST = ("honest", "honest_guard", "bluffer", "skeptic", "counter", "prudent", "planner")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--config", default="english.yaml", help="what is changed in one part")
    parser.add_argument("--decisions", type=int, default=6_000_000, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--deals", type=int, default=250, help="of each evaluation")
    parser.add_argument("--threads", type=int, default=2, help="of each training")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    found = {
        part: [_trained(options, part, seed) for seed in options.seeds] for part in options.parts
    }
    print(f"| part | minutes | {' | '.join(AGAINST)} |")
    print("|---" * (len(AGAINST) + 2) + "|")
    for part, runs in found.items():
        print(f"| {part} | {' | '.join(map(_spread, zip(*map(_figures, runs), strict=True)))} |")


def _trained(options: argparse.Namespace, part: str, seed: int) -> Path:
    """Return the directory of a finished training of a part, after training it where needed."""
    name = f"{part.replace(' ', '-')}-{seed}"
    directory: Path = options.out / name
    if not (directory / "evaluation.json").exists():
        begun = ["--resume", str(directory)] if directory.exists() else []
        command = [
            *(sys.executable, "-m", "train"),
            *(begun or ["--config", options.config, "--name", name, *PARTS[part]]),
            f"--learner.total_decisions={options.decisions}",
            f"--learner.seed={seed}",
            f"--learner.threads={options.threads}",
            f"--output.directory={options.out}",
            f"--evaluation.deals={options.deals}",
            f"--evaluation.against=[{', '.join(AGAINST)}]",
        ]
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / f"{name}.log").open("a") as log:
            subprocess.run(command, check=True, stdout=log)
    return directory


def _figures(run: Path) -> list[float]:
    """Return the minutes of a training, and its shares in % by opponent."""
    cells = json.loads((run / "evaluation.json").read_text("utf-8"))["cells"]
    shares = {cell["lineup"][1]: cell["agents"][cell["lineup"][0]]["share"] for cell in cells}
    last = (run / "metrics.csv").read_text("utf-8").splitlines()
    seconds = dict(zip(last[0].split(","), last[-1].split(","), strict=True))["seconds"]
    return [float(seconds) / 60, *(100 * shares[name]["mean"] for name in AGAINST)]


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.1f} ({min(values):.1f} - {max(values):.1f})"


if __name__ == "__main__":
    main()
