"""`python -m train.ship`: make of a trained model one that plays with NumPy alone.

The file holds the policy's weights and the header of the model: its games, the training's config,
its decisions and time, and the versions that it was trained with. `agents.load` reads it by its
path.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from agents import AgentError, load
from agents.learned import LearnedAgent
from agents.shipped import SUFFIX, save
from train.config import ConfigError, fail


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m train.ship", description=__doc__)
    add = parser.add_argument
    add("model", metavar="MODEL", help="the model.zip or best.zip of a run")
    add("--out", type=Path, required=True, metavar="FILE", help=f"where to write, as X{SUFFIX}")
    add("--summary", default="", help="a line on it for `python -m agents`")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        agent = load(options.model)
        if not isinstance(agent, LearnedAgent):
            raise ConfigError(f"{options.model}: must be the model.zip of a run")
        if options.out.suffix != SUFFIX:
            raise ConfigError(f"--out {options.out}: must end in {SUFFIX}")
        told = agent.header | {"summary": options.summary or "trained by self-play"}
        save(options.out, agent.observation, agent.arrays(), told)
    except (ConfigError, AgentError, OSError) as error:
        return fail(error)
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
