"""`python -m agents`: list the agents that have a name, watch them, or write what they play."""

import argparse
import sys
from collections.abc import Sequence

from agents import generate, watch
from agents.base import AgentError
from agents.habits import Habits
from agents.registry import HELD_OUT, RULES
from agents.shipped import SUFFIX, ZOO, ShippedAgent, names
from agents.table import command as table
from cheat_env import IllegalAction, RulesError

BAD_INPUT, INTERRUPTED = 2, 130
LLM = (
    "`llm(command='python my_model.py', timeout=60)` is what a program answers in words"
    " (agents/llm.py)"
)
SEARCH = (
    "deals the hidden cards anew worlds= times, plays every action out by counter's rule, and takes"
    " one that surely gains on the rule of counter, or of honest_guard where the last one loses"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """List the agents or run one command; returns 0, 2 for bad input, 130 where it was stopped."""
    parser = argparse.ArgumentParser("python -m agents", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    generate.add_command(commands)
    watch.add_command(commands)
    table.add_command(commands)
    options = parser.parse_args(arguments)
    if "run" not in options:
        show()
        return 0
    try:
        print(options.run(options))
    except (
        *(generate.DataError, watch.WatchError, AgentError),
        *(RulesError, IllegalAction, OSError),
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("stopped: nothing was written", file=sys.stderr)
        return INTERRUPTED
    return 0


def show() -> None:
    """Print each name with its habits and a line on what it does."""
    print(f"{'random':13} plays any legal action, each with the same chance")
    plain = Habits()
    for name, rule in RULES.items():
        print(f"{name:13} {rule.meaning}")
        changed = [
            f"{habit}={value:g}"
            for habit, value in rule.habits._asdict().items()
            if value != getattr(plain, habit)
        ]
        if changed:
            print(f"{'':13} {', '.join(changed)}")
    print(f"{'search':13} {SEARCH}")
    for name in names():
        summary = ShippedAgent.load(ZOO / f"{name}{SUFFIX}").header["summary"]
        print(f"{name:13} {summary}")
    print(f"\n{LLM}")
    print(f"Habits, each from 0 to 1, as in bluffer(lie=0.2): {', '.join(Habits._fields)}")
    print(f"Held out from all training, for evaluation: {', '.join(HELD_OUT)}")


if __name__ == "__main__":
    sys.exit(main())
