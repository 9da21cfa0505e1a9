"""The pictures of the report, as SVG: the same figures give the same bytes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, product
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from train.findings import Estimate, Game, Record
from train.payoffs import Payoffs
from train.ratings import Rating

SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "path",  # no font of the reader's is needed
    "svg.hashsalt": "cheat",  # ids without chance
    "text.parse_math": False,  # a name may hold dollars
}
#: Purple and orange of ColorBrewer, told apart by the colour-blind; white is the equal share.
MAP = matplotlib.colormaps["PuOr"]
#: The colours of Okabe and Ito, told apart by the colour-blind.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D00")
#: Rates of fewer chances than this are chance; they are left out of the curves.
FEWEST = 20
#: More lines than this need no legend: nobody could tell them apart.
MOST_NAMED = 14


def _svg(draw: Callable[[], Figure]) -> str:
    """Return a drawing as SVG, whatever settings of matplotlib the reader keeps."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in a script without a font here
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        page = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        draw().savefig(page, format="svg", metadata=nothing)
    drawn = page.getvalue()
    return drawn[drawn.index("<svg") :]  # the declaration before it names a file elsewhere


def _short(name: str, most: int = 24) -> str:
    """Return a name that fits a picture; tables have it whole."""
    name = re.sub(r"[^ ,]*?([^ ,/]+)/model\.zip", r"\1", name)
    half = (most - 3) // 2
    return name if len(name) <= most else f"{name[:half]}...{name[-half:]}"


def payoff_map(table: Payoffs) -> str:
    """Draw the payoff matrix, with every share and its interval in its cell."""
    return _svg(lambda: _payoff_map(table))


def _payoff_map(table: Payoffs) -> Figure:
    size = (1.6 + 0.72 * len(table.columns), 1.3 + 0.42 * len(table.rows))
    figure = Figure(size, layout="constrained")
    axes = figure.add_subplot()
    means = np.full((len(table.rows), len(table.columns)), np.nan)
    norm = TwoSlopeNorm(table.equal, 0, 1)
    for place in product(range(len(table.rows)), range(len(table.columns))):
        one, other = table.rows[place[0]], table.columns[place[1]]
        share = table.shares.get((one, other))
        if share is not None and share.mean is not None:
            means[place] = share.mean
        elif one == other:
            means[place] = table.equal
        colour = MAP(norm(means[place]))
        dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.55
        axes.text(
            *(place[1], place[0], _told(share, one == other, table.equal)),
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if dark and not np.isnan(means[place]) else "black",
        )
    edges = [np.arange(count + 1) - 0.5 for count in reversed(means.shape)]
    axes.pcolormesh(*edges, np.ma.masked_invalid(means), cmap=MAP, norm=norm, edgecolors="white")
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(table.columns)), map(_short, table.columns))
    axes.set_yticks(range(len(table.rows)), map(_short, table.rows))
    for label in axes.get_xticklabels():
        label.set(rotation=40, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("against copies of")
    axes.set_ylabel("one seat of")
    return figure


def _told(share: Estimate | None, own: bool, equal: float) -> str:
    """Return the text of a cell of the map."""
    if share is None:
        return f"({100 * equal:.0f})" if own else ""
    if share.mean is None:
        return "-"
    if share.low is None or share.high is None:
        return f"{100 * share.mean:.1f}"
    return f"{100 * share.mean:.1f}\n{100 * share.low:.1f} - {100 * share.high:.1f}"


def rating_chart(rated: Sequence[Rating]) -> str:
    """Draw the ratings with their errors, best on top."""
    return _svg(lambda: _rating_chart(rated))


def _rating_chart(rated: Sequence[Rating]) -> Figure:
    figure = Figure((3.6, 0.7 + 0.24 * len(rated)), layout="constrained")
    axes = figure.add_subplot()
    for place, one in enumerate(rated):
        axes.errorbar(
            *(one.rating, place, None, one.error),
            fmt="o",
            markersize=4,
            capsize=3,
            color=COLOURS[0],
        )
    axes.set_yticks(range(len(rated)), [_short(one.name) for one in rated])
    axes.set_ylim(len(rated) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("rating")
    return figure


def behaviour(game: Game) -> str:
    """Draw when each agent lies and when it challenges, against each table and in all."""
    return _svg(lambda: _behaviour(game))


def _behaviour(game: Game) -> Figure:
    names = list(dict.fromkeys(name for name, _, _ in game.views))
    tables = list(dict.fromkeys(others for _, others, _ in game.views))
    kinds = zip(cycle(COLOURS), (i // len(COLOURS) for i in range(len(tables))), strict=False)
    styles = {
        others: {"color": colour, "linestyle": ("-", "--", ":")[turn % 3]}
        for others, (colour, turn) in zip(tables, kinds, strict=False)
    }
    figure = Figure((7, 0.9 + 1.35 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), 3, squeeze=False, sharex="col", sharey=True)
    for name, (left, middle, right) in zip(names, grid, strict=True):
        met = [(others, cell.agents[name]) for one, others, cell in game.views if one == name]
        _curves(left, met, styles, lambda record: [(b, a) for a, b in record.lies_by_hand])
        _curves(middle, met, styles, lambda record: [(b, a) for a, b in record.lies_by_size])
        _curves(
            right, met, styles, lambda record: [(b, a) for a, b, _ in record.challenges_by_size]
        )
        left.set_ylabel(_short(name, 16))
    grid[0, 0].set_title("lies when free to tell the truth, %")
    grid[0, 1].set_title("lies of all claims, %")
    grid[0, 2].set_title("challenges when asked, %")
    grid[0, 0].set_ylim(-4, 104)
    grid[0, 0].set_yticks([0, 50, 100])
    _ticks(grid[-1, 0], 13, "cards in hand")
    _ticks(grid[-1, 1], 3, "cards of the claim")
    _ticks(grid[-1, 2], 3, "cards of the claim")
    if len(tables) <= MOST_NAMED:
        lines = [*grid[0, 0].plot([], [], color="black", lw=2)]
        lines += [grid[0, 0].plot([], [], lw=1, **styles[others])[0] for others in tables]
        labels = ["all of these", *(f"against {_short(others)}" for others in tables)]
        figure.legend(
            lines, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False
        )
    return figure


def _curves(
    axes: Axes,
    met: Sequence[tuple[str, Record]],
    styles: dict[str, dict[str, Any]],
    read: Callable[[Record], list[tuple[float, float]]],
) -> None:
    """Draw one agent's rates: a faint line a table, and a thick one for all of them."""
    for others, record in met:
        axes.plot(*_rates(read(record)), lw=0.9, alpha=0.7, **styles[others])
    pooled = np.sum([read(record) for _, record in met], axis=0)
    axes.plot(*_rates(pooled), color="black", lw=1.8, marker=".", markersize=4)
    axes.grid(axis="y", alpha=0.25)


def _rates(rows: Iterable[Sequence[float]]) -> tuple[list[int], list[float]]:
    """Return places and rates in percent of rows of (times, chances)."""
    kept = [
        (place, 100 * times / chances)
        for place, (times, chances) in enumerate(rows, 1)
        if chances >= FEWEST
    ]
    return [place for place, _ in kept], [rate for _, rate in kept]


def _ticks(axes: Axes, exact: int, label: str) -> None:
    """Name the places 1, 2 ... and the last one, which holds all that is more."""
    step = 2 if exact > 5 else 1
    places = [*range(1, exact + 1, step), exact + 1]
    axes.set_xticks(places, [*map(str, places[:-1]), f"{exact + 1}+"])
    axes.set_xlabel(label)
