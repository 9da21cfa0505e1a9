"""`python -m train.evaluate`: what agents win, seat by seat, with intervals.

The unit is the deal: each deal is played with every rotation of the seats, one seat for the agent
and the others for copies of the opponent. Deals depend on the seed and their number alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from agents import Agent, AgentError, load
from cheat_env import Rules, RulesError, Tables
from cheat_env.files import write_text
from cheat_env.observations import layout
from train.config import INTERRUPTED, fail

#: Deals played at once; part of what chance the agents meet, so it is no option.
CHUNK = 256
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Match:
    """One agent in one seat against copies of an opponent.

    Attributes:
        deals: distinct deals; each is played `players` times, with every rotation.
        share: share of the finished deals that the agent won (where the last seat with cards
            loses: did not lose); None where none finished.
        low, high: its 95% interval, clustered by deal.
        lost: share of the finished deals in which the game names the agent a loser.
        reward: mean reward over the finished deals.
        truncated: share of the played deals that were truncated.
        plays: mean plays of a deal.
    """

    variant: str
    players: int
    scoring: str
    agent: str
    opponents: str
    deals: int
    share: float | None
    low: float | None
    high: float | None
    lost: float | None
    reward: float | None
    truncated: float
    plays: float
    seed: int
    policy: str = "sampled"


def play_match(
    variant: Any,
    players: int,
    agent: Agent,
    opponent: Agent,
    deals: int,
    seed: int,
    rules: dict[str, Any] | None = None,
) -> Match:
    """Play one agent against copies of another, every deal with every rotation of the seats."""
    game = Rules.load(variant, **{**(rules or {}), "deals": 1, "until": None})
    chunks = [
        _play_chunk(
            game, players, agent, opponent, seed, np.arange(first, min(first + CHUNK, deals))
        )
        for first in range(0, deals, CHUNK)
    ]
    won, lost, reward, finished, plays = (
        np.concatenate(part) for part in zip(*chunks, strict=True)
    )
    return Match(
        variant=game.name,
        players=players,
        scoring=game.scoring,
        agent=agent.name,
        opponents=opponent.name,
        deals=deals,
        **_share(won, finished),
        lost=_ratio(lost, finished),
        reward=_ratio(reward, finished),
        truncated=1 - float(finished.mean()),
        plays=float(plays.mean()),
        seed=seed,
    )


def _play_chunk(
    game: Rules, players: int, agent: Agent, opponent: Agent, seed: int, deals: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Play some deals; returns (deals, rotations) each of won, lost, reward, finished, plays."""
    own_seat = np.tile(np.arange(players), len(deals))
    tables = Tables(game, players, len(own_seat), seed=seed, auto_reset=False)
    tables.reset(deals=np.repeat(deals, players), numbers=0)
    rng = np.random.default_rng([seed, int(deals[0])])
    reward = np.zeros(len(own_seat))
    while (live := tables.action_mask.any(axis=1)).any():
        mine = tables.seat == own_seat
        actions = np.zeros(len(own_seat), np.int64)
        for player, rows in ((agent, live & mine), (opponent, live & ~mine)):
            if rows.any():
                actions[rows] = player.act(
                    _seen_by(player, tables, rows), tables.action_mask[rows], rng
                )
        tables.step(actions)
        reward += tables.reward[np.arange(len(own_seat)), own_seat]
    table, rows = tables.state, np.arange(len(own_seat))
    finished = tables.terminated
    lost = table["loser"][rows, own_seat] == 1
    won = finished & (~lost if game.scoring == "last" else table["out"][rows, own_seat] == 1)
    shape = (len(deals), players)
    columns = (won, lost, reward, finished, table["plays"])
    return tuple(np.asarray(column).reshape(shape) for column in columns)


def _seen_by(player: Agent, tables: Tables, rows: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return what the player reads of these tables: `table` is a prefix of `memory`."""
    return np.ascontiguousarray(tables.observation[rows, : layout(player.observation).size])


def _ratio(values: NDArray[Any], finished: NDArray[np.bool_]) -> float | None:
    return float(values.sum() / finished.sum()) if finished.any() else None


def _share(won: NDArray[np.bool_], finished: NDArray[np.bool_]) -> dict[str, float | None]:
    """Return share, low and high: the ratio estimator over deals with its t interval.

    The deals are the clusters (Cochran, "Sampling Techniques", chapter 6); where fewer than two
    deals finished there is no interval, where all or none are won it is Clopper and Pearson's.
    """
    share = _ratio(won, finished)
    deals = int(finished.any(axis=1).sum())
    if share is None or deals < 2:
        return {"share": share, "low": None, "high": None}
    if share in (0, 1):  # no spread to estimate from: the exact interval for so many deals
        exact = stats.binomtest(deals * int(share), deals).proportion_ci(CONFIDENCE)
        return {"share": share, "low": float(exact.low), "high": float(exact.high)}
    residual = won.sum(axis=1) - share * finished.sum(axis=1)
    error = np.sqrt((residual**2).sum() * deals / (deals - 1)) / finished.sum()
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, deals - 1) * error)
    return {"share": share, "low": max(share - half, 0.0), "high": min(share + half, 1.0)}


def evaluate(
    variant: Any,
    players: int,
    agents: Sequence[Agent],
    against: Sequence[Agent],
    deals: int,
    seed: int,
    rules: dict[str, Any] | None = None,
    watch: Callable[[Sequence[Any]], Any] = iter,
) -> list[Match]:
    """Play each agent against each opponent; `watch` may show the progress over the pairs."""
    pairs = [(agent, opponent) for agent in agents for opponent in against]
    return [play_match(variant, players, *pair, deals, seed, rules) for pair in watch(pairs)]


# --- Tables and files -----------------------------------------------------------------------------

WIDTH = 110
COLUMNS = ("agent", "against", "won", "95%", "lost", "truncated", "plays", "deals")


def rows(matches: Sequence[Match]) -> list[tuple[str, ...]]:
    """Return the cells of a table of matches, in the order of COLUMNS."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f}"

    return [
        (
            match.agent,
            f"{match.players - 1} x {match.opponents}",
            percent(match.share),
            f"{percent(match.low)} - {percent(match.high)}",
            percent(match.lost),
            percent(match.truncated),
            f"{match.plays:.0f}",
            f"{match.deals} x {match.players}",
        )
        for match in matches
    ]


def title(match: Match) -> str:
    """Return the heading of a table, with what an equal share is."""
    last_loses = match.scoring == "last"
    equal = (match.players - 1 if last_loses else 1) / match.players
    won = "not lost" if last_loses else "won"
    return (
        f"{match.variant}, {match.players} seats: % of deals {won} (equal share {100 * equal:.1f})"
    )


def wide_console() -> Console:
    """Return a console that has room for the table also where the output is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def show(matches: Sequence[Match], console: Console) -> None:
    """Print the matches as a table."""
    table = Table(title=title(matches[0]))
    for column in COLUMNS:
        table.add_column(column, no_wrap=True)
    for cells in rows(matches):
        table.add_row(*cells)
    console.print(table)


def markdown(matches: Sequence[Match]) -> str:
    """Return the matches as Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows(matches)]
    return (
        f"{title(matches[0])}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    )


def write(matches: Sequence[Match], directory: Path) -> None:
    """Write evaluation.json and evaluation.md."""
    document = {"matches": [asdict(match) for match in matches]}
    write_text(directory / "evaluation.json", json.dumps(document, indent=2) + "\n")
    write_text(directory / "evaluation.md", markdown(matches))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser("python -m train.evaluate", description=__doc__)
    parser.add_argument("--variant", required=True, help="name of a game")
    parser.add_argument("--players", type=int, help="seats (default: the game's)")
    parser.add_argument("--agents", nargs="+", required=True, help="names, or paths of model.zip")
    parser.add_argument("--against", nargs="+", required=True, help="names, or paths of model.zip")
    parser.add_argument("--deals", type=int, default=500, help="deals (default 500)")
    parser.add_argument("--seed", type=int, default=1, help="what the deals are drawn from")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write JSON and Markdown")
    options = parser.parse_args(arguments)
    console = wide_console()
    try:
        players = options.players
        if players is None:
            players = Rules.load(options.variant).default_players
        if options.deals < 1 or options.seed < 0:
            raise AgentError("--deals must be at least 1 and --seed at least 0")
        if options.out and options.out.exists() and not options.out.is_dir():
            raise AgentError(f"--out {options.out}: is no directory")
        agents, against = (
            [load(name) for name in names] for names in (options.agents, options.against)
        )
        matches = evaluate(
            options.variant,
            players,
            agents,
            against,
            options.deals,
            options.seed,
            watch=lambda pairs: track(pairs, "playing", console=console, transient=True),
        )
    except (RulesError, AgentError) as error:
        return fail(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    show(matches, console)
    if options.out:
        write(matches, options.out)
        console.print(f"written to {options.out}/evaluation.json and evaluation.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
