"""`python -m train`: train an agent by self-play, then evaluate it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agents import AgentError, load
from cheat_env import RulesError
from train.command import parse, value_of
from train.config import FAILED, INTERRUPTED, ConfigError, fail
from train.opponents import refuse_held_out
from train.run import Run, free_name
from train.tables import wide_console


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    console = wide_console()
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        config, resume = parse(words)
        if resume is None and not config.name:
            own = free_name(Path(config.output.directory), config.game.name)
            config = replace(config, name=own)
        refuse_held_out(config)
        for name in (*config.evaluation.against, *config.evaluation.panel):
            load(name)
        cluster = value_of("--cluster", words) or ""
        run = Run(config, resume is not None, console, cluster)
    except (ConfigError, RulesError, AgentError, OSError) as error:
        return fail(error)
    try:
        if not run.train():
            console.print(f"stopped; go on with: python -m train --resume {run.directory}")
            return INTERRUPTED
        console.print(f"model and metrics are in {run.directory}; evaluating")
        run.evaluate()
    except KeyboardInterrupt:
        console.print("stopped")
        return INTERRUPTED
    except OSError as error:  # a full disk: what was written before is whole
        print(f"error: {error}; go on with: --resume {run.directory}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
