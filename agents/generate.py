"""Data sets of games played by agents: `python -m agents generate` (docs/datasets.md).

Deals are played in chunks that are written as they end, so memory depends on the chunk alone. What
chance the agents meet in a chunk comes from the seed, the game, the agents and the chunk's number;
deal k is that of `env.reset(seed=seed, options={"deal": k})` where a match is one deal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml
from numpy.typing import NDArray

from agents.base import NOBODY, SINGLE_DEALS, Agent, ask_all
from agents.registry import load
from cheat_env import Rules, RulesError, Tables
from cheat_env.actions import NUM_ACTIONS
from cheat_env.checks import whole
from cheat_env.files import write
from cheat_env.observations import MEMORY
from cheat_env.records import from_actions
from cheat_env.state import OVER

#: Deals played at once; part of what chance the agents meet, so it is no option.
CHUNK = 128
OBSERVATIONS, RECORDS = "observations", "records"
#: The most deals of a data set: their numbers are drawn from with 32 bits.
MOST_DEALS = 2**32
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode

#: Columns by name, of equal length.
Columns = dict[str, Any]


class DataError(ValueError):
    """A data set that can't be made; the message says why."""


class Played:
    """A chunk of deals that were played, by decision and by deal.

    Attributes:
        deals: int64 (deals,), their numbers.
        state: the tables as the deals left them.
        columns: of every decision, in the order of the deals and then of play.
    """

    def __init__(self, rules: Rules, agents: Mapping[str, Agent], seats: Sequence[str]) -> None:
        self._rules = rules
        self._agents = list(agents.values())
        self._at = np.array([list(agents).index(name) for name in seats])
        self.seats = np.array(seats, object)

    def play(self, deals: NDArray[np.int64], seed: int, rng: np.random.Generator) -> None:
        """Play some deals to their ends; each agent acts for all its tables at once.

        Raises `IllegalAction`, naming the agent, where one does not keep to the rules.
        """
        tables = Tables(self._rules, len(self.seats), len(deals), seed, auto_reset=False)
        tables.reset(deals=deals, numbers=0)
        taken: list[Columns] = []
        while len(open_ := np.flatnonzero(tables.state["phase"] != OVER)):
            actor = np.full(tables.num_tables, NOBODY)
            actor[open_] = self._at[tables.seat[open_]]
            actions = np.zeros(tables.num_tables, np.int64)
            ask_all(self._agents, actor, tables.observation, tables.action_mask, rng, actions)
            taken.append(
                {
                    "deal": open_,
                    "step": np.full(len(open_), len(taken), np.int32),
                    "seat": tables.seat[open_],
                    "action": actions[open_].astype(np.int8),
                    "observation": tables.observation[open_],
                    "action_mask": tables.action_mask[open_],
                }
            )
            tables.step(actions)
        self.deals, self.state = deals, tables.state.copy()
        self.columns = self._told(taken)

    def _told(self, taken: list[Columns]) -> Columns:
        """Return the decisions by deal, with what became of their deal for the seat."""
        if not taken:
            return {}
        found = {name: np.concatenate([step[name] for step in taken]) for name in taken[0]}
        order = np.argsort(found["deal"], kind="stable")
        found = {name: values[order] for name, values in found.items()}
        row, seat = found["deal"], found["seat"]
        ended = _last_of_seat(row, seat, len(self.seats))
        cut = self.state["truncated"][row]
        found |= {
            "deal": self.deals[row],
            "agent": self.seats[seat],
            "reward": self.state["reward"][row, seat],
            "terminated": ended & ~cut,
            "truncated": ended & cut,
        }
        return found

    def actions(self) -> Iterator[NDArray[np.int8]]:
        """Yield the actions of each deal."""
        for deal in self.deals:
            first, last = np.searchsorted(
                self.columns.get("deal", self.deals[:0]), [deal, deal + 1]
            )
            yield self.columns["action"][first:last] if self.columns else np.zeros(0, np.int8)


def _last_of_seat(
    row: NDArray[np.int64], seat: NDArray[np.int8], players: int
) -> NDArray[np.bool_]:
    """Say which decisions, in the order of play, are the last of their seat in their deal."""
    _, back = np.unique((row * players + seat)[::-1], return_index=True)
    last = np.zeros(len(row), np.bool_)
    last[len(row) - 1 - back] = True
    return last


# --- Tables of what was played --------------------------------------------------------------------


def of_decisions(played: Played, _: Columns) -> Columns:
    """Return a row for every decision."""
    return played.columns


def of_deals(played: Played, head: Columns) -> Columns:
    """Return a row for every deal: its record and what became of it.

    Args:
        played: the chunk.
        head: `variant`, `players`, `seed` and `rules` as records name them.
    """
    players = head["players"]
    found: Columns = {"deal": played.deals, "seed": [head["seed"]] * len(played.deals)}
    found["agents"] = [played.seats.tolist()] * len(played.deals)
    records, decisions = [], []
    for deal, actions in zip(played.deals.tolist(), played.actions(), strict=True):
        given = head["variant"], players, head["seed"], actions.tolist(), deal
        records.append(json.dumps(from_actions(*given, **head["rules"])))
        decisions.append(len(actions))
    found["record"], found["decisions"] = records, np.array(decisions, np.int32)
    for name, column in (("rewards", "reward"), ("out", "out"), ("losers", "loser")):
        found[name] = played.state[column][:, :players].tolist()
    found["truncated"] = played.state["truncated"]
    return found


TABLES: dict[str, Callable[[Played, Columns], Columns]] = {
    OBSERVATIONS: of_decisions,
    RECORDS: of_deals,
}


# --- Files ----------------------------------------------------------------------------------------


class Writer(Protocol):
    """A file that columns are added to."""

    def add(self, columns: Columns) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what is left."""


class JsonLines:
    """A file with a JSON object on each line."""

    def __init__(self, path: Path, what: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def add(self, columns: Columns) -> None:
        """Write some rows."""
        texts = [_as_texts(name, values) for name, values in columns.items()]
        for row in zip(*texts, strict=True):
            self._file.write(f"{{{','.join(row)}}}\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _as_texts(name: str, values: Any) -> list[str]:
    """Return a column as JSON, a text for each row: `"name":value`."""
    key = json.dumps(name)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return [f"{key}:[{row}]" for row in _digits(values)]
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return [f"{key}:{_ENCODE(value)}" for value in plain]


def _digits(values: NDArray[np.int8]) -> list[str]:
    """Return rows of numbers from 0 to 127 with commas between, all at once: that is the speed."""
    text = np.full((*values.shape, 4), ord(","), np.uint8)
    for place, power in enumerate((100, 10, 1)):
        text[..., place] = values // power % 10 + ord("0")
    text[:, -1, -1] = ord("\n")
    shown = np.ones(text.shape, np.bool_)
    shown[..., 0], shown[..., 1] = values >= 100, values >= 10
    return text[shown].tobytes().decode("ascii").splitlines()


class Parquet:
    """A Parquet file, a row group for each chunk.

    Raises `DataError` where pyarrow is missing.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._arrow, self._schema = _schema(what)
        from pyarrow.parquet import ParquetWriter

        self._writer = ParquetWriter(path, self._schema, compression="zstd")

    def add(self, columns: Columns) -> None:
        """Write some rows."""
        arrays = [self._array(columns[field.name], field.type) for field in self._schema]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    def _array(self, values: Any, kind: Any) -> Any:
        if isinstance(values, np.ndarray) and values.ndim == 2:
            flat = self._arrow.array(np.ascontiguousarray(values).reshape(-1))
            return self._arrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
        return self._arrow.array(values, kind)

    def close(self) -> None:
        """Write what tells of the file's parts, and close it."""
        self._writer.close()


def _schema(what: str) -> tuple[Any, Any]:
    """Return pyarrow and the columns of a data set of observations or records."""
    try:
        import pyarrow as arrow
    except ModuleNotFoundError:
        raise DataError(
            "Parquet needs pyarrow: install cheat-env[data], or name a .jsonl"
        ) from None
    if what == OBSERVATIONS:
        columns = {
            "deal": arrow.int64(),
            "step": arrow.int32(),
            "seat": arrow.int8(),
            "action": arrow.int8(),
            "observation": arrow.list_(arrow.int8(), MEMORY.size),
            "action_mask": arrow.list_(arrow.int8(), NUM_ACTIONS),
            "agent": arrow.string(),
            "reward": arrow.float32(),
            "terminated": arrow.bool_(),
            "truncated": arrow.bool_(),
        }
    else:
        columns = {
            "deal": arrow.int64(),
            "seed": arrow.uint64(),
            "agents": arrow.list_(arrow.string()),
            "record": arrow.string(),
            "decisions": arrow.int32(),
            "rewards": arrow.list_(arrow.float32()),
            "out": arrow.list_(arrow.int8()),
            "losers": arrow.list_(arrow.int8()),
            "truncated": arrow.bool_(),
        }
    return arrow, arrow.schema(list(columns.items()))


WRITERS: dict[str, Callable[[Path, str], Writer]] = {".jsonl": JsonLines, ".parquet": Parquet}


def generate(
    variant: Any,
    agents: Sequence[str],
    players: int | None,
    seed: int,
    deals: int,
    out: Path,
    what: str = OBSERVATIONS,
) -> int:
    """Play deals and write them to a file, whole or not at all; returns how many decisions.

    Args:
        variant: name of a game, or a mapping of house rules.
        agents: who sits in each seat, for `agents.load`; one sits in all of them.
        players: seats; None: as many as agents, or the game's default where there is but one.
        seed: what deals and chance are drawn from, 0 .. 2**64-1.
        deals: how many.
        out: the file, .jsonl or .parquet.
        what: "observations", a row for every decision, or "records", a row for every deal.

    Raises `DataError`, `RulesError`, `AgentError` or `IllegalAction`, in one line, and OSError.
    """
    if out.suffix not in WRITERS:
        raise DataError(f"--out {str(out)!r}: must end with {' or '.join(WRITERS)}")
    whole("--seed", seed, 0, 2**64 - 1)
    whole("--deals", deals, 1, MOST_DEALS)
    rules, seats = _seated(variant, agents, players)
    played = Played(rules, {name: load(name) for name in agents}, seats)
    head = {"variant": variant, "players": len(seats), "seed": seed, "rules": SINGLE_DEALS}
    decisions = 0

    def fill(path: Path) -> None:
        nonlocal decisions
        with closing(WRITERS[out.suffix](path, what)) as file:
            for chunk, first in enumerate(range(0, deals, CHUNK)):
                numbers = np.arange(first, min(first + CHUNK, deals))
                played.play(numbers, seed, _generator(rules, seats, seed, chunk))
                if columns := TABLES[what](played, head):
                    file.add(columns)
                decisions += len(played.columns.get("deal", ()))

    write(out, fill)
    return decisions


def _seated(
    variant: Any, agents: Sequence[str], players: int | None
) -> tuple[Rules, tuple[str, ...]]:
    """Return the rules of single deals, and who sits where."""
    rules = Rules.load(variant, **SINGLE_DEALS)
    if players is None:
        players = rules.default_players if len(agents) == 1 else len(agents)
    rules.options(players)  # refuses what can't be played
    if len(agents) not in (1, players):
        raise DataError(f"--agents: {len(agents)} for {players} players: give one, or as many")
    return rules, tuple(agents) * (players // len(agents))


def _generator(rules: Rules, seats: Sequence[str], seed: int, chunk: int) -> np.random.Generator:
    """Return the generator from which the agents of a chunk draw."""
    key = json.dumps([rules.as_options(), seats], sort_keys=True, default=str)
    words = np.frombuffer(hashlib.sha256(key.encode()).digest(), "<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words, chunk]))


def add_command(commands: Any) -> None:
    """Add `generate` to a command's subcommands."""
    command: argparse.ArgumentParser = commands.add_parser(
        "generate", help="write a data set of games played by agents"
    )
    command.add_argument("--variant", required=True, help="a game, or house rules as {base: ...}")
    command.add_argument("--agents", required=True, nargs="+", help="one, or one for each seat")
    command.add_argument("--players", type=int, help="seats; left out: as many as agents")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--deals", type=int, required=True)
    command.add_argument("--out", type=Path, required=True, help="a file, .jsonl or .parquet")
    command.add_argument("--what", choices=tuple(TABLES), default=OBSERVATIONS)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Make the data set that a command asks for; returns what to say of it."""
    try:
        variant = yaml.safe_load(options.variant)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise RulesError(f"--variant {options.variant!r}: is no name and no mapping") from None
    given = (options.agents, options.players, options.seed, options.deals, options.out)
    decisions = generate(variant, *given, options.what)
    return f"{options.out}: {options.deals} deals, {decisions} decisions"
