"""`python -m train.exact`: a small game solved, and how far an agent is from its equilibrium.

A game of two seats is written out in full and solved by CFR+. An agent's exploitability is exact: a
best response that knows the agent, and forgets nothing, plays against it in each seat, and what it
wins on average over the two seats is reported (half of NashConv; 0 at equilibrium). An agent that
can't tell its probabilities is asked for its action many times, and its figures have an error then:
of `bluffer`, asked instead of told, the exploitability is off by 0.002 with 1000 draws, 0.02 with
100.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agents import Agent, AgentError, load
from agents.base import Mixing
from cheat_env import IllegalAction, Rules, RulesError
from cheat_env.files import write_text
from cheat_env.observations import LAYOUTS
from train.command import parse
from train.config import INTERRUPTED, MOST_SEED, ConfigError, fail
from train.lines import SEATS
from train.results import versions
from train.solver import Policy, responses, solve, value
from train.tables import CONDUCT_TITLE, Section, show, wide_console
from train.tree import Tree, look, merge, policy_of, write_out

MINIATURE = "miniature.yaml"
RESULT_COLUMNS = ("policy", "leader wins", "response leads", "response follows", "exploitability")
CONDUCT_COLUMNS = ("policy", "lies/free", "forced/claims", "challenges/asked", "right/challenges")
#: What JSON holds.
Document = dict[str, Any]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m train.exact", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--agent", nargs="+", default=[], help="names, or paths of a model.zip, to be measured")
    add("--config", default=MINIATURE, help=f"whose game is solved (default {MINIATURE})")
    add("--rules", nargs="+", default=[], metavar="KEY=VALUE", help="rule options to change")
    add("--iterations", type=int, default=200, help="of CFR+ (default 200)")
    add(
        "--merged",
        nargs="+",
        default=[],
        choices=tuple(LAYOUTS),
        help="also solve the game for seats that see only this observation",
    )
    add("--draws", type=int, default=1000, help="of an agent that only acts (default 1000)")
    add("--seed", type=int, default=1, help="what these draws come from (default 1)")
    add("--out", type=Path, metavar="FILE", help="write all figures as JSON")
    return parser


def rules_of(options: argparse.Namespace) -> Rules:
    """Return the rules that are asked for; refuses numbers that make no sense."""
    for name in ("iterations", "draws"):
        if getattr(options, name) < 1:
            raise ConfigError(f"--{name} {getattr(options, name)}: must be at least 1")
    if not 0 <= options.seed <= MOST_SEED:
        raise ConfigError(f"--seed {options.seed}: must be from 0 to {MOST_SEED}")
    for rule in options.rules:
        if "=" not in rule:
            raise ConfigError(f"--rules {rule!r}: must be KEY=VALUE")
    changes = [f"--game.rules.{rule}" for rule in options.rules]
    game = parse(["--config", options.config, *changes])[0].game
    return Rules.load(game.variant, **game.rules)


# --- Figures --------------------------------------------------------------------------------------


def document(
    tree: Tree, rules: Rules, options: argparse.Namespace, agents: list[Agent]
) -> Document:
    """Return what is found of the game, its solutions and agents; the same for equal options."""
    found = {name: figures(tree, policy) for name, policy in policies(tree, options, agents)}
    return {
        "variant": rules.name,
        "rules": rules.as_options(),
        "nodes": len(tree.nodes),
        "information_states": [len(met) for met in tree.met],
        "iterations": options.iterations,
        "draws": {agent.name: options.draws for agent in agents if not isinstance(agent, Mixing)},
        "seed": options.seed,
        "versions": versions(),
        "policies": found,
    }


def policies(
    tree: Tree, options: argparse.Namespace, agents: list[Agent]
) -> Iterator[tuple[str, Policy]]:
    """Yield the solution of the game, what is asked for beside it, and each policy's name."""
    yield "equilibrium", solve(tree.game, options.iterations)
    read = {*options.merged, *(agent.observation for agent in agents)}
    seen = {observation: look(tree, observation) for observation in sorted(read)}
    for observation in options.merged:
        merged = merge(tree, seen[observation])
        yield f"by {observation} alone", solve(tree.game, options.iterations, merged)
    for agent in agents:
        yield agent.name, policy_of(agent, seen[agent.observation], options.draws, options.seed)


def figures(tree: Tree, policy: Policy) -> Document:
    """Return what a policy wins and how it plays, in both seats of the game.

    The wins of a deal are of who leads; conduct is counted a deal (see `train.measures`).
    """
    leads, follows = responses(tree.game, policy)
    return {
        "value": value(tree.game, policy),
        "response_leads": leads,
        "response_follows": follows,
        "exploitability": (leads + follows) / SEATS,
        "conduct": tree.conduct(policy),
    }


# --- What is said of them -------------------------------------------------------------------------


def sections(found: Document) -> Iterator[Section]:
    """Yield two tables: what policies and the best responses to them win, and how they play."""
    states = " + ".join(f"{count:,}" for count in found["information_states"])
    title = f"{found['variant']}: {found['nodes']:,} nodes, {states} information states"
    named = found["policies"].items()
    yield Section(title, RESULT_COLUMNS, [_result(*item) for item in named])
    yield Section(CONDUCT_TITLE, CONDUCT_COLUMNS, [_conduct(*item) for item in named])


def _result(name: str, policy: Document) -> tuple[str, ...]:
    """Return the row of RESULT_COLUMNS for a policy."""
    wins = (policy[of] for of in ("value", "response_leads", "response_follows"))
    return (name, *(f"{won:+.4f}" for won in wins), f"{policy['exploitability']:.4f}")


def _conduct(name: str, policy: Document) -> tuple[str, ...]:
    """Return the row of CONDUCT_COLUMNS for a policy."""
    count = policy["conduct"]
    return (
        name,
        _ratio(count["lies"], count["free"]),
        _ratio(count["claims"] - count["free"], count["claims"]),
        _ratio(count["challenges"], count["asked"]),
        _ratio(count["right"], count["challenges"]),
    )


def _ratio(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 else "-"


# --- The command line -----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    console, began = wide_console(), time.monotonic()
    try:
        rules, agents = rules_of(options), [load(name) for name in options.agent]
        found = document(write_out(rules), rules, options, agents)
        show(sections(found), console)
        for name, draws in found["draws"].items():
            console.print(f"{name}: probabilities from {draws:,} draws each", soft_wrap=True)
        if options.out is not None:
            write_text(options.out, json.dumps(found, indent=1) + "\n")
            console.print(f"written to {options.out}", soft_wrap=True)
    except (ConfigError, RulesError, AgentError, IllegalAction, OSError) as error:
        return fail(error)
    except KeyboardInterrupt:
        console.print("stopped")
        return INTERRUPTED
    console.print(f"{time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
