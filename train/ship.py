"""`python -m train.ship`: make of a finished run a model that plays with NumPy alone.

The file holds the policy's weights and a header: the games, the training's config, its decisions
and time, and the versions that it was trained with. `agents.load` reads it by its path.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from agents import AgentError, load
from agents.learned import LearnedAgent
from agents.shipped import SUFFIX, save
from cheat_env import Rules, RulesError
from train.config import ConfigError, fail, parse
from train.results import versions


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m train.ship", description=__doc__)
    add = parser.add_argument
    add("run", type=Path, metavar="DIR", help="the directory of a run")
    add("--model", default="model.zip", help="which of its models (default model.zip)")
    add("--out", type=Path, required=True, metavar="FILE", help=f"where to write, as X{SUFFIX}")
    add("--summary", default="", help="a line on it for `python -m agents`")
    return parser


def header(run: Path, summary: str) -> dict[str, Any]:
    """Return what a model's file tells of its run; raises `ConfigError`."""
    saved, metrics = run / "config.yaml", run / "metrics.csv"
    if not saved.is_file() or not metrics.is_file():
        raise ConfigError(f"{run}: is no directory of a run")
    config, _ = parse(["--config", str(saved)])
    with metrics.open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    games = [(Rules.load(variant).name, seats) for variant, seats in config.game.rooms()]
    return {
        "summary": summary or f"trained by self-play in {config.game.name}",
        "games": games,
        "decisions": int(last["decisions"]),
        "seconds": float(last["seconds"]),
        "versions": versions() | {"torch": torch.__version__},
        "config": asdict(config),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.out.suffix != SUFFIX:
            raise ConfigError(f"--out {options.out}: must end in {SUFFIX}")
        told, agent = header(options.run, options.summary), load(str(options.run / options.model))
        if not isinstance(agent, LearnedAgent):
            raise ConfigError(f"--model {options.model}: must be a model of the run")
        save(options.out, agent.observation, agent.arrays(), told)
    except (ConfigError, RulesError, AgentError, OSError) as error:
        return fail(error)
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
