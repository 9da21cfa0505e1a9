"""`python -m train.report`: an evaluation as one static page and as Markdown.

Every share stands with its interval and its deals, every measure of an agent with whom it met;
ratings stand beside the shares and the matrix, with the cycles that no rating can show.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cheat_env.files import write_text
from train import pages, pictures
from train.config import fail
from train.findings import Estimate, Evaluation, EvaluationError, Finding, Game, Record, parse, read
from train.pages import Block, Heading, Picture, Table, Text
from train.payoffs import Payoffs, around, cycles, lottery, mutual, payoffs
from train.ratings import ratings

TITLE = "Evaluation"
HOW = {
    "one-vs-rest": "each agent took one seat, copies of one opponent the others",
    "round-robin": "each agent took one seat against copies of each other agent",
    "mixed": "different agents sat at one table",
}


def write_report(evaluation: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write report.html and report.md of an evaluation's JSON; returns their paths."""
    blocks = report(parse(evaluation))
    paths = {
        directory / "report.html": pages.html(TITLE, blocks),
        directory / "report.md": pages.markdown(TITLE, blocks),
    }
    for path, text in paths.items():
        write_text(path, text)
    return list(paths)


def report(evaluation: Evaluation) -> list[Block]:
    """Return all that the report says, in order."""
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    blocks: list[Block] = [
        Text(
            f"In this evaluation ({evaluation.format}) {HOW[evaluation.format]}. Policy: "
            f"{evaluation.policy}. Seed: {evaluation.seed}. Versions: {versions or 'not told'}."
        ),
        Text(
            "A deal is played with rotations of its seats, so that no seat favours anyone. "
            "Intervals are of 95% and clustered by deal; each is for its own figure, so of twenty "
            "about one misses. Truncated deals, which passed the limit of plays, are in no share "
            "and stand apart."
        ),
    ]
    for game in evaluation.games:
        blocks += [Heading(game.title), *_results(game), *_truncated(game)]
        blocks += [*_matrix(game), *_ratings(game), *_behaviour(game)]
    return blocks


# --- What was won ---------------------------------------------------------------------------------


def _results(game: Game) -> list[Block]:
    """Return the raw table: every agent against every table."""
    words = "not lost" if game.last_loses else "won"
    rows = [(name, others, *_result(cell, cell.agents[name])) for name, others, cell in game.views]
    columns = ("agent", "against", f"{words} %", "95%", "lost %", "95%", "reward", "95%")
    return [
        Heading("Results", 3),
        Text(
            f"Of the finished deals of one seat, those {words}: an equal share is "
            f"{_percent(game.equal)}%, and an agent whose whole interval is above it does better "
            "than its table. Lost: the game named it a loser. Place: 1 is the first. "
            "Deals: different deals, times rotations."
        ),
        Table((*columns, "place", "95%", "plays", "finished", "deals"), rows),
    ]


def _result(cell: Finding, record: Record) -> tuple[str, ...]:
    rotations = (cell.finished + cell.truncated) / cell.deals if cell.deals else 0
    return (
        *_shown(record.share, _percent),
        *_shown(record.lost, _percent),
        *_shown(record.reward, _hundredths),
        *_shown(record.place, _hundredths),
        "-" if cell.plays is None else f"{cell.plays:.0f}",
        f"{cell.finished:,}",
        f"{cell.deals:,} x {rotations:g}",
    )


def _truncated(game: Game) -> list[Block]:
    """Return the cells with truncated deals, apart from all shares."""
    rows = []
    for cell in game.cells:
        if cell.truncated:
            games = cell.finished + cell.truncated
            name, others = cell.lineup[0], cell.others(cell.lineup[0])
            share = _percent(cell.truncated / games)
            rows.append((name, others, f"{cell.truncated:,}", f"{games:,}", share))
    heading = Heading("Truncated deals", 3)
    if not rows:
        return [heading, Text("None: every deal ended by the rules.")]
    return [
        heading,
        Text("Deals that passed the limit of plays and that nobody won: a table at a standstill."),
        Table(("agent", "against", "truncated", "played", "truncated %"), rows),
    ]


def _shown(estimate: Estimate, write: Callable[[float], str]) -> tuple[str, str]:
    """Return a mean and its interval as two cells."""
    if estimate.mean is None:
        return "-", "-"
    if estimate.low is None or estimate.high is None:
        return write(estimate.mean), "-"
    between = "-" if estimate.low >= 0 else "to"
    return write(estimate.mean), f"{write(estimate.low)} {between} {write(estimate.high)}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


# --- Who beats whom -------------------------------------------------------------------------------


def _matrix(game: Game) -> list[Block]:
    """Return the payoff matrix, its cycles and its maximal lottery."""
    heading = Heading("Who beats whom", 3)
    table = payoffs(game)
    if table is None:
        return [heading, Text("No matrix: no agent sat alone against copies of another.")]
    rows = [(one, *(_payoff(table, one, other) for other in table.columns)) for one in table.rows]
    return [
        heading,
        Text(
            "The share of one seat of the row's agent against copies of the column's, in %, with "
            f"its interval. White is the equal share, {_percent(table.equal)}: what an agent has "
            "against itself. Purple is more, orange less."
        ),
        Picture(pictures.payoff_map(table), "Heat map of the table that follows"),
        Table(("one seat of", *table.columns), rows),
        *_cycles(table),
        *_lottery(table),
    ]


def _payoff(table: Payoffs, one: str, other: str) -> str:
    if one == other and (one, other) not in table.shares:
        return _percent(table.equal)
    mean, interval = _shown(table.shares.get((one, other), Estimate(None, None, None)), _percent)
    return mean if interval == "-" else f"{mean} ({interval})"


def _cycles(table: Payoffs) -> list[Block]:
    """Return the pairs and the threes that no order from best to worst can hold."""
    meaning = "One beats another where its interval against copies of it is above the equal share."
    blocks: list[Block] = []
    if found := cycles(table):
        rows = [
            (
                " > ".join((*three, three[0])),
                ", ".join(_percent(table.shares[pair].mean or 0) for pair in around(three)),
            )
            for three in found
        ]
        text = f"Cycles: {len(found)}. {meaning} Where there is a cycle, no order is true."
        blocks += [Text(text), Table(("each beats the next", "shares %"), rows)]
    else:
        blocks.append(Text(f"Cycles of three: none. {meaning}"))
    if pairs := mutual(table):
        both = [
            (
                f"{one}, {other}",
                _percent(table.shares[one, other].mean or 0),
                _percent(table.shares[other, one].mean or 0),
            )
            for one, other in pairs
        ]
        blocks.append(
            Text(
                "Pairs in which each, alone, beats a table of the other; such a pair may stand in "
                "cycles either way round:"
            )
        )
        blocks.append(Table(("pair", "first's share %", "second's share %"), both))
    return blocks


def _lottery(table: Payoffs) -> list[Block]:
    """Return the mixture that nobody beats."""
    found = lottery(table)
    if found is None:
        return [Text("No mixture: not every agent met every other both ways.")]
    rows = [
        (name, _percent(weight), "-" if found.drawn is None else f"{100 * found.drawn[name]:.0f}")
        for name, weight in sorted(found.weights.items(), key=lambda item: (-item[1], item[0]))
        if weight > 0 or (found.drawn or {}).get(name)
    ]
    return [
        Text(
            "The mixture that nobody beats (maximal lottery, Nash equilibrium): two sides each "
            "name an agent, and a side gets what its agent takes from copies of the other's, less "
            "the reverse. Who draws the agent by these weights loses to no choice of the other "
            "side. The last column: in how many of the redraws of the matrix within its intervals "
            "the agent has weight; who has it in none is not listed."
        ),
        Table(("agent", "weight %", "of redraws %"), rows),
    ]


def _ratings(game: Game) -> list[Block]:
    """Return the ratings beside the shares they come from."""
    rated = ratings(game)
    heading = Heading("Ratings", 3)
    if not rated:
        return [heading, Text("None: no two agents met in a deal that finished.")]
    rows = [
        (
            one.name,
            f"{one.rating:.1f}",
            "-" if one.error is None else f"{one.error:.1f}",
            *_extremes(game, one.name),
        )
        for one in rated
    ]
    words = "not lost" if game.last_loses else "won"
    return [
        heading,
        Text(
            "openskill's Plackett-Luce ratings of these agents among themselves: all start at 25, "
            "and who is higher outdoes the other more often than the other way round. The bar is "
            "95% by redrawing the shares within their intervals; how far the model is from the "
            "game is not in it. A rating is a summary of one "
            "list: no cycle and no preference for an opponent is in it, so read it with its worst "
            f"and best {words} share (of the results above) beside it."
        ),
        Picture(pictures.rating_chart(rated), "Chart of the ratings in the table that follows"),
        Table(("agent", "rating", "+-", "worst %", "against", "best %", "against"), rows),
    ]


def _extremes(game: Game, name: str) -> tuple[str, ...]:
    """Return an agent's worst and best share, each with whom it met.

    Of an agent that was only met in copies, these are the shares of one of them.
    """
    met = [(others, cell) for one, others, cell in game.views if one == name]
    met = met or [(cell.others(name), cell) for cell in game.cells if name in cell.lineup]
    shares = [(cell.agents[name].share.mean, others) for others, cell in met]
    found = sorted((mean, others) for mean, others in shares if mean is not None)
    if not found:
        return ("-",) * 4
    return tuple(
        text for mean, others in (found[0], found[-1]) for text in (_percent(mean), others)
    )


# --- How they play --------------------------------------------------------------------------------


def _behaviour(game: Game) -> list[Block]:
    """Return when the agents lie and challenge, against each table."""
    rows = [
        (name, others, *_measures(cell, cell.agents[name])) for name, others, cell in game.views
    ]
    columns = ("agent", "against", "lies when free %", "forced lies %")
    return [
        Heading("How they play", 3),
        Text(
            "In %, with the number of chances in brackets. Free: a true claim was possible. "
            "Forced lies: of all claims, those where none was. Challenged: of the times asked. "
            "Right: of its challenges, those that turned up a lie. Caught: of its lies, those "
            "that were turned up. Plays: of a whole deal."
        ),
        Picture(pictures.behaviour(game), "Curves of lies by cards in hand, challenges by claim"),
        Text(
            "Thin lines are single tables, the black one all of them together; rates of fewer "
            f"than {pictures.FEWEST} chances are left out of the curves."
        ),
        Table((*columns, "challenged %", "right %", "caught %", "plays"), rows),
    ]


def _measures(cell: Finding, record: Record) -> tuple[str, ...]:
    """Return the cells of the table of behaviour for one agent at one table."""
    counts = record.counts
    lies = counts["lies_free"] + counts["lies_forced"]
    return (
        _rate(counts["lies_free"], counts["free"]),
        _rate(counts["lies_forced"], counts["claims"]),
        _rate(counts["challenges"], counts["asked"]),
        _rate(counts["right"], counts["challenges"]),
        _rate(counts["caught"], lies),
        "-" if cell.plays is None else f"{cell.plays:.0f}",
    )


def _rate(times: float, chances: float) -> str:
    return f"{_percent(times / chances)} ({chances:,.0f})" if chances else "- (0)"


# --- Command line ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser("python -m train.report", description=__doc__)
    parser.add_argument("evaluation", type=Path, help="an evaluation.json of train.evaluate")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: beside the evaluation)"
    )
    options = parser.parse_args(arguments)
    directory = options.out or options.evaluation.parent
    try:
        paths = write_report(read(options.evaluation), directory)
    except EvaluationError as error:
        return fail(error)
    except OSError as error:
        return fail(OSError(f"can't write to {directory}: {error}"))
    print(f"written: {' and '.join(map(str, paths))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
