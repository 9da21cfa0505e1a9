"""A game with a person in it: the environment, the agents, and what is kept of each deal."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, AgentError, ask
from agents.registry import load
from agents.table.heard import Claim, Event, caught_by, claimed, heard
from cheat_env import actions as act
from cheat_env import engine, raw_env, records
from cheat_env.observations import encode
from cheat_env.scenes import Scene, scene
from cheat_env.seen import Seen
from cheat_env.state import NO_SEAT, OVER, QUADS, State, Table

#: Games without a seed are drawn from one below this, which is short enough to be typed.
SEEDS = 2**31


class TableError(AgentError):
    """A game that a person can't be seated at; the message says why."""


class Person:
    """A person at the table: an agent whose next actions were chosen at the screen."""

    name = "person"
    observation = "memory"

    def __init__(self) -> None:
        self._chosen: list[int] = []

    def choose(self, actions: Sequence[int]) -> None:
        """Take the actions of a whole turn."""
        self._chosen += actions

    @property
    def ready(self) -> bool:
        """Whether an action was chosen that is not played yet."""
        return bool(self._chosen)

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return the next chosen action, int64 (1,)."""
        return np.array([self._chosen.pop(0)])


class Game:
    """Matches of a person against agents, one after the other, each kept as a record.

    Args:
        variant: name of a game, or mapping of house rules.
        opponents: names of agents: one for all other seats, or one each, clockwise from the person.
        players: seats; None: as many as there are opponents, or with one the game's default.
        seed: what the cards are drawn from; None: drawn.
        seat: the person's; None: drawn for every match.
        directory: where records are written.

    Raises `AgentError` and `RulesError` for what can't be played.
    """

    def __init__(
        self,
        variant: Any,
        opponents: Sequence[str],
        players: int | None = None,
        seed: int | None = None,
        seat: int | None = None,
        directory: Path = Path("games"),
    ) -> None:
        if players is None and len(opponents) > 1:
            players = len(opponents) + 1
        self.variant, self.directory = variant, directory
        self.env = raw_env(variant, players, observation=Person.observation)
        self.players = self.env.tables.num_players
        self.seed = secrets.randbelow(SEEDS) if seed is None else seed
        if len(opponents) not in (1, self.players - 1):
            raise TableError(
                f"--opponents: {len(opponents)} given: must be one, or one for each of"
                f" {self.players - 1} seats"
            )
        if seat is not None and not 0 <= seat < self.players:
            raise TableError(f"--seat {seat}: must be from 0 to {self.players - 1}")
        loaded = {name: load(name) for name in dict.fromkeys(opponents)}
        each = opponents if len(opponents) > 1 else list(opponents) * (self.players - 1)
        self._others: list[Agent] = [loaded[name] for name in each]
        self._names, self._fixed = each, seat
        self.person, self.deals_seen = Person(), 0
        self._begin(0)

    def _begin(self, match: int) -> None:
        """Deal the first cards of a match, and seat everybody."""
        self.env.reset(seed=self.seed, options={"deal": match})
        self.match = match
        self._path: Path | None = None
        self._rng = np.random.default_rng((self.seed, match))
        drawn = int(np.random.default_rng((self.seed, match, 1)).integers(self.players))
        self.seat = drawn if self._fixed is None else self._fixed
        order = [(self.seat + 1 + place) % self.players for place in range(self.players - 1)]
        self.agents = dict(zip(order, self._others, strict=True)) | {self.seat: self.person}
        self.names = dict(zip(order, self._names, strict=True))
        self._ended: State | None = self.env.tables.state.copy() if self._match_over else None
        self._begin_deal()

    def _begin_deal(self) -> None:
        self.deals_seen += 1
        self.claims: list[Claim] = []
        self.catches: list[tuple[int, int]] = []

    @property
    def _match_over(self) -> bool:
        return any(self.env.terminations.values()) or any(self.env.truncations.values())

    @property
    def deck(self) -> tuple[str, ...]:
        """The names of the ranks."""
        return self.env.tables.deck

    @property
    def table(self) -> Table:
        """The table that is to be seen: at the end of a deal still that deal's."""
        return (self.env.tables.state if self._ended is None else self._ended)[0]

    @property
    def counts(self) -> bool:
        """Whether points are counted over several deals."""
        options = self.env.tables.options
        return bool(options["deals"] > 1 or options["until"] > 0)

    @property
    def over(self) -> bool:
        """Whether a deal has ended and the next was not begun."""
        return self._ended is not None

    @property
    def asked(self) -> bool:
        """Whether the person is asked, and has not chosen yet."""
        mine = int(self.table["turn"]) == self.seat
        return not self.over and mine and not self.person.ready

    @property
    def private(self) -> bool:
        """Whether another seat is asked what nobody else may know of (K1)."""
        return bool(self.table["phase"] == QUADS and self.table["turn"] != self.seat)

    def mask(self) -> NDArray[np.int8]:
        """Return what the person may do now, int8 (46,); nothing while it is not asked."""
        if not self.asked:
            return np.zeros(act.NUM_ACTIONS, np.int8)
        return self.env.observe(f"player_{self.seat}")["action_mask"]

    def seen(self) -> Seen:
        """Return what the person sees and remembers."""
        tables = self.env.tables
        observation = np.empty(tables.layout.size, np.int8)
        encode(self.table, tables.options, self.seat, observation)
        return Seen(observation, tables.deck)

    def scene(self, open_hands: bool = False) -> Scene:
        """Return the table as the person may see it; with `open_hands`, as everybody's hands do.

        Raises ValueError for open hands before the deal is over.
        """
        if open_hands and not self.over:
            raise ValueError("open_hands: the deal is not over")
        tables = self.env.tables
        return scene(self.table, tables.options, tables.deck, None if open_hands else self.seat)

    def step(self) -> list[Event]:
        """Let the seat that is asked act once; returns what the person hears of it."""
        env, tables = self.env, self.env.tables
        seat = int(self.table["turn"])
        seen = env.observe(f"player_{seat}")
        before = tables.state.copy()
        action = int(
            ask(self.agents[seat], seen["observation"][None], seen["action_mask"][None], self._rng)[
                0
            ]
        )
        # The environment deals on by itself: how the deal ended shows at a copy of the table.
        after = before.copy()
        engine.apply(after[0], tables.options, action)
        if action == act.LAY:
            self.claims.append(claimed(before[0], self.deck))
        catcher = caught_by(before[0], after[0])
        if catcher != NO_SEAT:
            self.catches.append((catcher, self.claims[-1].seat))
        told = list(heard(before[0], after[0], action, self.deck, self.seat))
        env.step(action)
        if after[0]["phase"] == OVER:
            self._ended = after
            self.save()
        return told

    def go_on(self) -> None:
        """Begin the next deal, of this match or of the next."""
        if self._match_over:
            self._begin(self.match + 1)
        else:
            self._ended = None
            self._begin_deal()

    def lies(self) -> dict[str, int]:
        """Return how often the others and the person lied in this deal, and were caught at it.

        Only what the person itself caught is counted of the others.
        """
        others = [claim for claim in self.claims if claim.lie and claim.seat != self.seat]
        mine = [claim for claim in self.claims if claim.lie and claim.seat == self.seat]
        return {
            "lies": len(others),
            "caught": sum(who == self.seat != liar for who, liar in self.catches),
            "own": len(mine),
            "own_caught": sum(liar == self.seat != who for who, liar in self.catches),
        }

    def record(self) -> dict[str, Any]:
        """Return the record of this match as far as it was played, whole turns only."""
        title = f"a person in seat {self.seat} against " + ", ".join(
            f"{self.names[seat]} in seat {seat}" for seat in sorted(self.names)
        )
        played = records.from_actions(
            self.variant, self.players, self.seed, self.env.actions_played, self.match
        )
        return {"title": title} | played

    def save(self) -> Path | None:
        """Write the record of this match to its own file; returns it, or None without a move."""
        document = self.record()
        if not document["moves"]:
            return None
        self._path = self._path or self._free_path()
        records.save(self._path, document)
        return self._path

    def _free_path(self) -> Path:
        """Return a file that no earlier game was written to."""
        name = self.variant if isinstance(self.variant, str) else self.variant["base"]
        stem = f"{Path(str(name)).stem}-{self.seed}-{self.match}"
        path, number = self.directory / f"{stem}.yaml", 1
        while path.exists():
            number += 1
            path = self.directory / f"{stem}-{number}.yaml"
        return path
