"""The observation table: what a seat may know, declared once.

`TABLE` is the short observation, `MEMORY` the long one; the first is a prefix of the second. One
declaration gives the compiled encoder its places, `view` its names, `space` its bounds and
`markdown` the documentation; `cheat_env.words` tells it. Everything is int8 and seen from the
observer: seats count clockwise from it (0 is the observer itself), ranks count round the deck from
the rank in force, or from the deck's first rank where none is. Absent seats and ranks are 0.

A seat sees its own hand and counts of everything else (K1), and what it could remember of its own
view (K2). No field reads another hand, the pile or the cards aside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.checks import one_of
from cheat_env.compiled import compiled
from cheat_env.engine import around, base_rank
from cheat_env.options import FLAGS, MAX_SEATS, Options
from cheat_env.state import (
    ANNOUNCE,
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    CLAIM_SIZES,
    NO_CLAIM,
    NO_RANK,
    OUTCOMES,
    OVER,
    PENDING,
    PHASES,
    PLAY,
    QUADS,
    RECENT,
    TALLIES,
    Table,
)
from cheat_env.values import REMOVED, REVEAL

MOST = 127
OTHERS = MAX_SEATS - 1
#: Numbers of one remembered claim: seat + 1, relative rank, count, then a flag for each outcome.
CLAIM_WIDTH = 3 + len(OUTCOMES) - 1


class Field(NamedTuple):
    """One field: its name, shape, largest value, usual size (to scale by) and meaning."""

    name: str
    shape: tuple[int, ...]
    high: int
    scale: int
    meaning: str

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


class Layout:
    """Fields one after another: the place of each, and the whole as a space."""

    def __init__(self, name: str, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.fields = fields
        self.start: dict[str, int] = {}
        self.size = 0
        for field in fields:
            self.start[field.name] = self.size
            self.size += field.size

    def per_number(self, attribute: str) -> NDArray[np.int8]:
        """Return "high" or "scale" for every number, int8 (size,)."""
        values = [np.full(field.size, getattr(field, attribute), np.int8) for field in self.fields]
        return np.concatenate(values)

    def space(self) -> gymnasium.spaces.Box:
        """Return the space of the array, a Box of int8 (size,)."""
        low, high = np.zeros(self.size, np.int8), self.per_number("high")
        return gymnasium.spaces.Box(low, high, dtype=np.int8)

    def view(self, array: NDArray[np.int8]) -> dict[str, NDArray[np.int8]]:
        """Return the fields of arrays (..., size) by name, as views (..., *shape)."""
        lead = array.shape[:-1]
        return {
            field.name: array[..., start : start + field.size].reshape(*lead, *field.shape)
            for field, start in zip(self.fields, self.start.values(), strict=True)
        }

    def markdown(self) -> str:
        """Return the layout as a Markdown table."""
        rows = ["| place | field | shape | largest | meaning |", "|---|---|---|---|---|"]
        for field in self.fields:
            first = self.start[field.name]
            last = first + field.size - 1
            place = f"{first}" if field.size == 1 else f"{first}-{last}"
            shape = " x ".join(map(str, field.shape))
            rows.append(f"| {place} | `{field.name}` | {shape} | {field.high} | {field.meaning} |")
        return "\n".join(rows)


_TABLE_FIELDS = (
    Field("own_hand", (SLOTS,), MOST, 4, "own cards by relative rank, the last slot for jokers"),
    Field("picked", (SLOTS,), MOST, 4, "own cards picked so far, by relative rank"),
    Field("rank", (NUM_RANKS,), 1, 1, "rank in force, or last claim where none is (A 2 ... K)"),
    Field("in_force", (1,), 1, 1, "that rank is in force, not only the last claim"),
    Field("phase", (OVER,), 1, 1, f"what the seat to act is asked: {', '.join(PHASES[:OVER])}"),
    Field("pile_size", (1,), MOST, 26, "cards on the table, the last group included"),
    Field("group_size", (1,), MOST, 4, "cards of the group that can be challenged, or 0"),
    Field("claimant", (MAX_SEATS,), 1, 1, "the seat that laid that group"),
    Field("hand_sizes", (MAX_SEATS,), MOST, 13, "cards in every hand"),
    Field("out", (MAX_SEATS,), MAX_SEATS, 4, "place in the order of going out, 0 while in"),
    Field("quads", (NUM_RANKS,), 1, 1, "quads shown and discarded, by relative rank"),
    Field("gone", (SLOTS,), MOST, 4, "other cards that left the game face up, by relative rank"),
    Field("burnt_size", (1,), MOST, 26, "cards that left the game unseen"),
    Field("passed", (MAX_SEATS,), 1, 1, "seats that have no turn until the pile is gone"),
    Field("safe_turns", (1,), MOST, 4, "turns left in which no group can be challenged"),
    Field("scores", (MAX_SEATS,), MOST, 4, "points in the match"),
    *(Field(flag.name, (flag.size,), *flag[2:]) for flag in FLAGS),
)
_MEMORY_FIELDS = (
    Field("own_pile", (SLOTS,), MOST, 4, "own cards in the pile, by relative rank"),
    Field("own_burnt", (SLOTS,), MOST, 4, "own cards in burnt piles, by relative rank"),
    Field(
        "known",
        (OTHERS, SLOTS),
        MOST,
        4,
        "cards that each other seat is certain to hold, by relative rank",
    ),
    Field("claimed", (NUM_RANKS,), MOST, 4, "cards of the pile claimed as each relative rank"),
    Field(
        "tallies",
        (MAX_SEATS, CLAIM_SIZES, len(TALLIES)),
        MOST,
        16,
        f"by seat and size of claim (1, 2, more): {', '.join(TALLIES)}",
    ),
    Field(
        "recent",
        (RECENT, CLAIM_WIDTH),
        MOST,
        8,
        f"last claims, newest first: seat + 1, relative rank, count, {', '.join(OUTCOMES[1:])}",
    ),
)
_ALL_CARDS = (MAX_SEATS, SLOTS)
_TRUTH_FIELDS = (
    Field("hand", _ALL_CARDS, MOST, 4, "cards in hand, by seat and rank of the deck"),
    Field("pile", _ALL_CARDS, MOST, 4, "cards of the closed groups, by the seat that laid them"),
    Field("group", (SLOTS,), MOST, 4, "the group that can be challenged"),
    Field("picked", (SLOTS,), MOST, 4, "cards picked so far by the seat to act"),
    Field("aside", (SLOTS,), MOST, 4, "cards out of the deal"),
    Field("burnt", _ALL_CARDS, MOST, 4, "cards of burnt piles, by the seat that laid them"),
    Field("gone", (SLOTS,), MOST, 4, "cards that left the game face up, without the quads"),
    Field("quads", (NUM_RANKS,), 1, 1, "quads shown and discarded"),
    Field("phase", (OVER,), 1, 1, f"what the seat to act is asked: {', '.join(PHASES[:OVER])}"),
    Field("turn", (MAX_SEATS,), 1, 1, "the seat to act"),
    Field("rank", (NUM_RANKS,), 1, 1, "rank in force, by place in the deck"),
    Field("claim", (NUM_RANKS,), 1, 1, "rank last claimed, by place in the deck"),
    Field("claimant", (MAX_SEATS,), 1, 1, "the seat that laid the group"),
    Field("out", (MAX_SEATS,), MAX_SEATS, 4, "place in the order of going out, 0 while in"),
    Field("passed", (MAX_SEATS,), 1, 1, "seats that have no turn until the pile is gone"),
    Field("safe_turns", (1,), MOST, 4, "turns left in which no group can be challenged"),
    Field("scores", (MAX_SEATS,), MOST, 4, "points in the match"),
    Field("players", (1,), MAX_SEATS, MAX_SEATS, "number of seats"),
)

TABLE = Layout("table", _TABLE_FIELDS)
MEMORY = Layout("memory", _TABLE_FIELDS + _MEMORY_FIELDS)
#: The whole truth, from seat 0, for critics: `state()` of the environment.
TRUTH = Layout("truth", _TRUTH_FIELDS)
LAYOUTS = {layout.name: layout for layout in (TABLE, MEMORY)}


def layout(name: str) -> Layout:
    """Return the layout "table" or "memory"; raises `RulesError`."""
    return LAYOUTS[one_of("observation", name, tuple(LAYOUTS), {})]


def view(observation: NDArray[np.int8]) -> dict[str, NDArray[np.int8]]:
    """Return the fields of observations (..., size) by name, as views; raises ValueError."""
    for known in LAYOUTS.values():
        if observation.shape[-1] == known.size:
            return known.view(observation)
    sizes = ", ".join(f"{known.size} ({known.name})" for known in LAYOUTS.values())
    raise ValueError(f"observation of {observation.shape[-1]} numbers: must be {sizes}")


# The places of the fields, as constants for compiled code.
AT_OWN_HAND = MEMORY.start["own_hand"]
AT_PICKED = MEMORY.start["picked"]
AT_RANK = MEMORY.start["rank"]
AT_IN_FORCE = MEMORY.start["in_force"]
AT_PHASE = MEMORY.start["phase"]
AT_PILE_SIZE = MEMORY.start["pile_size"]
AT_GROUP_SIZE = MEMORY.start["group_size"]
AT_CLAIMANT = MEMORY.start["claimant"]
AT_HAND_SIZES = MEMORY.start["hand_sizes"]
AT_OUT = MEMORY.start["out"]
AT_QUADS = MEMORY.start["quads"]
AT_SCORES = MEMORY.start["scores"]
AT_PLAYERS = MEMORY.start["players"]
AT_NUM_RANKS = MEMORY.start["num_ranks"]
AT_COPIES = MEMORY.start["copies"]
AT_MOST = MEMORY.start["most"]
AT_PROGRESSION = MEMORY.start["progression"]
AT_GONE = MEMORY.start["gone"]
AT_BURNT_SIZE = MEMORY.start["burnt_size"]
AT_PASSED = MEMORY.start["passed"]
AT_SAFE_TURNS = MEMORY.start["safe_turns"]
AT_NEXT_CHALLENGES = MEMORY.start["next_challenges"]
AT_JOKERS = MEMORY.start["jokers"]
AT_ASIDE = MEMORY.start["aside"]
AT_FLAGS = AT_PLAYERS
NUM_FLAGS = sum(flag.size for flag in FLAGS)
AT_OWN_PILE = MEMORY.start["own_pile"]
AT_OWN_BURNT = MEMORY.start["own_burnt"]
AT_KNOWN = MEMORY.start["known"]
AT_CLAIMED = MEMORY.start["claimed"]
AT_TALLIES = MEMORY.start["tallies"]
AT_RECENT = MEMORY.start["recent"]
TABLE_SIZE = TABLE.size
TALLIES_A_SEAT = CLAIM_SIZES * len(TALLIES)


@compiled
def encode(table: Table, options: Options, seat: int, out: NDArray[np.int8]) -> None:
    """Write the observation of `seat` into `out`, int8 (TABLE.size,) or (MEMORY.size,)."""
    out[:] = 0
    memory = len(out) > TABLE_SIZE
    _encode_cards(table, options, seat, memory, out)
    _encode_table(table, options, seat, out)
    if memory:
        _encode_memory(table, options, seat, out)


@compiled
def _encode_cards(
    table: Table, options: Options, seat: int, memory: bool, out: NDArray[np.int8]
) -> None:
    """Write every field that counts by rank, in one turn round the deck from the base rank."""
    players, ranks, base = int(options.players), int(options.num_ranks), base_rank(table)
    acts = seat == table.turn  # what another seat has picked is its own
    laid = seat == table.claimant and table.group_size > 0
    burnt, gone = table.burnt_size > 0, _cards_are_gone(options)
    for r in range(SLOTS):
        if r < ranks:
            slot = np.uint64(around(base + r - ranks, ranks))
        elif r == JOKER:
            slot = np.uint64(JOKER)
        else:
            continue
        out[AT_OWN_HAND + r] = table.hand[seat, slot]
        if acts:
            out[AT_PICKED + r] = table.picked[slot]
        if gone:
            out[AT_GONE + r] = table.gone[slot]
        if memory:
            out[AT_OWN_PILE + r] = table.pile[seat, slot]
            if burnt:
                out[AT_OWN_BURNT + r] = table.burnt[seat, slot]
            if laid:
                out[AT_OWN_PILE + r] += table.group[slot]
            other, place = seat, np.uint64(AT_KNOWN + r)
            for _ in range(players - 1):
                other = around(other + 1 - players, players)
                out[place] = table.known[seat, other, slot]
                place += np.uint64(SLOTS)
        if r < ranks:
            out[AT_QUADS + r] = table.quads[slot]
            if memory:
                out[AT_CLAIMED + r] = table.claimed[slot]


@compiled
def _cards_are_gone(options: Options) -> bool:
    """Say whether cards may have left the game face up, quads apart."""
    return bool(options.believe == REVEAL or options.joker_spent == REMOVED)


@compiled
def _encode_table(table: Table, options: Options, seat: int, out: NDArray[np.int8]) -> None:
    players = int(options.players)
    named = int(table.claim) if table.rank == NO_RANK else int(table.rank)
    if named != NO_RANK:
        out[AT_RANK + int(options.names[named])] = 1
    out[AT_IN_FORCE] = table.rank != NO_RANK
    phase = int(table.phase)
    if phase == QUADS and seat != table.turn:  # that the taker holds a quad is not public (K1)
        phase = ANNOUNCE if table.rank == NO_RANK else PLAY
    if phase != OVER:
        out[AT_PHASE + phase] = 1
    out[AT_PILE_SIZE] = table.pile_size
    out[AT_BURNT_SIZE] = table.burnt_size
    out[AT_SAFE_TURNS] = min(int(table.safe_turns), MOST)
    out[AT_GROUP_SIZE] = table.group_size
    if table.group_size > 0:
        out[AT_CLAIMANT + around(int(table.claimant) - seat, players)] = 1
    for offset in range(players):
        other = around(seat + offset - players, players)
        out[AT_HAND_SIZES + offset] = table.hand_size[other]
        out[AT_OUT + offset] = table.out[other]
        out[AT_PASSED + offset] = table.passed[other]
        out[AT_SCORES + offset] = min(int(table.score[other]), MOST)
    for i in range(NUM_FLAGS):
        out[AT_FLAGS + i] = options.shown[i]


@compiled
def _encode_memory(table: Table, options: Options, seat: int, out: NDArray[np.int8]) -> None:
    players, ranks, base = int(options.players), int(options.num_ranks), base_rank(table)
    for offset in range(players):
        other = around(seat + offset - players, players)
        place = AT_TALLIES + offset * TALLIES_A_SEAT
        for size in range(CLAIM_SIZES):
            for what in range(len(TALLIES)):
                out[place] = table.tally[other, size, what]
                place += 1
    offset = around(int(table.claimant) - seat, players)
    if table.group_size > 0 and offset > 0:  # any of its claimant's cards may lie in the group
        place = AT_KNOWN + (offset - 1) * SLOTS
        for slot in range(place, place + SLOTS):
            out[slot] = max(int(out[slot]) - int(table.group_size), 0)
    for i in range(RECENT):
        claim = table.recent[i]
        if claim[CLAIM_OUTCOME] == NO_CLAIM:
            break
        place = AT_RECENT + i * CLAIM_WIDTH
        out[place] = around(int(claim[CLAIM_SEAT]) - seat, players) + 1
        out[place + 1] = around(int(claim[CLAIM_RANK]) - base, ranks)
        out[place + 2] = claim[CLAIM_COUNT]
        out[place + 3 + int(claim[CLAIM_OUTCOME]) - PENDING] = 1


def truth(table: Table, options: Options) -> NDArray[np.int8]:
    """Return the whole truth of a table as int8 (TRUTH.size,): no seat may see it."""
    out = np.zeros(TRUTH.size, np.int8)
    fields = TRUTH.view(out)
    for name in (
        "hand",
        "pile",
        "group",
        "picked",
        "aside",
        "burnt",
        "gone",
        "quads",
        "out",
        "passed",
    ):
        fields[name][:] = table[name]
    for name in ("phase", "turn", "rank", "claim"):
        if 0 <= table[name] < len(fields[name]):
            fields[name][table[name]] = 1
    if table["group_size"] > 0:
        fields["claimant"][table["claimant"]] = 1
    fields["safe_turns"][:] = min(int(table["safe_turns"]), MOST)
    fields["scores"][:] = np.minimum(table["score"], MOST)
    fields["players"][:] = options["players"]
    return out
