"""`python -m agents`: list the agents that have a name."""

import argparse
from collections.abc import Sequence

from agents.habits import Habits
from agents.registry import HELD_OUT, RULES
from agents.shipped import SUFFIX, ZOO, ShippedAgent, names

SEARCH = (
    "deals the hidden cards anew worlds= times, plays every action out by counter's rule, and takes"
    " one that surely gains on the rule of counter, or of honest_guard where the last one loses"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print each name with its habits and a line on what it does."""
    argparse.ArgumentParser("python -m agents", description=__doc__).parse_args(arguments)
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
    print(f"\nHabits, each from 0 to 1, as in bluffer(lie=0.2): {', '.join(Habits._fields)}")
    print(f"Held out from all training, for evaluation: {', '.join(HELD_OUT)}")


if __name__ == "__main__":
    main()
