"""Every line of play of a small game of two seats, from every deal, played by the engine.

A node is a state that the engine reaches from a deal by legal actions; what is kept of it is a row
of `NODES`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheat_env import Rules, RulesError
from cheat_env import actions as act
from cheat_env.cards import SLOTS
from cheat_env.compiled import compiled
from cheat_env.engine import apply, legal_actions
from cheat_env.observations import encode
from cheat_env.state import OVER, State, allocate, records
from cheat_env.tables import Tables
from cheat_env.values import NO_QUADS, QUAD_RULES
from train.measures import ASKED, CHALLENGES, COUNTS, FREE, LIES, RIGHT, count_actions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEATS = 2
#: A game with more nodes is refused, and so is one with longer lines.
MOST_NODES, LONGEST = 20_000_000, 255
TOO_LARGE = -1
#: Cards are packed into one number: so many bits for each rank.
BITS = 4
#: A deal, to which no action led; or one that the other seat may not know.
NO_ACTION = -1
#: What the action that led to a node was (see `train.measures`).
CONDUCT = ("claims", "free", "lies", "asked", "challenges", "right")

NODES = np.dtype(
    [
        ("parent", np.int32),  # the node before; of a deal, 0
        ("deal", np.int32),
        ("depth", np.int16),  # actions since the deal
        ("actor", np.int8),  # the seat to act
        ("action", np.int8),  # what led here, its place among the legal actions, what it counts as
        ("nth", np.int8),
        ("conduct", np.int8, (len(CONDUCT),)),
        ("choices", np.int8),  # how many actions are legal here; 0: the deal is over
        ("group", np.int8),  # cards of the group that can be challenged
        ("payoff", np.float32),  # what the first seat was paid
        ("turned_up", np.int64),  # the cards that were turned up last
        ("hands", np.int64, (SEATS,)),
    ],
    align=True,
)


# --- Deals ----------------------------------------------------------------------------------------


def deals(rules: Rules) -> tuple[State, Floats]:
    """Return a table for every deal, seat 0 in the lead, and the probability of each.

    Raises `RulesError` where the game is not for two, or not all its cards are dealt, without
    jokers and quads: only then is the hand of one seat the whole deal.
    """
    options = rules.options(SEATS)
    copies, ranks = int(options.copies), int(options.num_ranks)
    if options.cards != options.dealt or rules.jokers > 0 or options.quads != NO_QUADS:
        raise RulesError(
            "only a game can be written out in which all cards are dealt,"
            f" with `jokers: 0` and `quads: {QUAD_RULES[NO_QUADS]}`"
        )
    if copies >= 1 << BITS:
        raise RulesError(f"copies {copies}: of a game that is written out, at most {2**BITS - 1}")
    start = _dealt(rules)
    size = int(start["hand_size"][0, 0])
    hands = np.array(list(_hands(ranks, copies, size)))
    roots = allocate(len(hands))
    roots[:] = start[0]
    roots["hand"][:, 0, :ranks] = hands
    roots["hand"][:, 1, :ranks] = copies - hands
    ways = [math.prod(math.comb(copies, count) for count in hand) for hand in hands.tolist()]
    return roots, np.array(ways) / math.comb(int(options.cards), size)


def _dealt(rules: Rules) -> State:
    """Return a table that was dealt by the rules, with seat 0 in the lead."""
    tables = Tables(rules, SEATS)
    match = 0
    while tables.seat[0] != 0:
        match += 1
        tables.reset(deals=match)
    return tables.state


def _hands(ranks: int, copies: int, size: int) -> Iterator[list[int]]:
    """Yield every hand of a size as counts by rank."""
    if ranks == 0:
        if size == 0:
            yield []
        return
    for count in range(min(copies, size) + 1):
        for rest in _hands(ranks - 1, copies, size - count):
            yield [count, *rest]


# --- Nodes ----------------------------------------------------------------------------------------


class Line(NamedTuple):
    """Room for the states on one line of play, from the deal: what is known at each depth."""

    states: State
    masks: NDArray[np.int8]
    """(n, 46), what is legal."""
    node: Ints
    action: Ints
    """The last action tried."""
    nth: Ints
    """How many actions were tried."""
    truth: NDArray[np.bool_]
    """What `count_actions` remembers of an announcement."""
    counts: NDArray[np.void]
    """`COUNTS` (1, seats) and decisions (1,), by `count_actions`; 0 between two actions."""
    decisions: NDArray[np.int32]


def _line() -> Line:
    """Return room for a line of `LONGEST` states."""
    return Line(
        states=allocate(LONGEST),
        masks=np.zeros((LONGEST, act.NUM_ACTIONS), np.int8),
        node=np.zeros(LONGEST, np.int64),
        action=np.zeros(LONGEST, np.int64),
        nth=np.zeros(LONGEST, np.int64),
        truth=np.zeros(LONGEST, np.bool_),
        counts=records(np.zeros((1, SEATS), COUNTS)),
        decisions=np.zeros(1, np.int32),
    )


def play_out(roots: State, options: NDArray[np.void]) -> NDArray[np.void]:
    """Return the rows of all nodes, deals first; raises `RulesError` where there are too many."""
    line = _line()
    size = walk(roots, options, line, records(np.zeros(0, NODES)))
    if size == TOO_LARGE:
        raise RulesError(
            f"the game is too large to be written out: it has more than {MOST_NODES:,} nodes, or"
            f" a line of more than {LONGEST - 1} actions"
        )
    nodes = records(np.zeros(size, NODES))
    walk(roots, options, line, nodes)
    return nodes


@compiled
def walk(roots: State, options: NDArray[np.void], line: Line, nodes: Any) -> int:
    """Write a row for every node, depth first, if there is room; returns how many there are.

    Returns `TOO_LARGE` where there are too many, or a line is too long.
    """
    number, fill = len(roots), len(nodes) > 0
    for deal in range(len(roots)):
        depth = 0
        line.states[0] = roots[deal]
        _arrive(line, options, depth, deal)
        if fill:
            nodes[deal].deal, nodes[deal].action = deal, NO_ACTION
            _describe(line, depth, nodes[deal])
        while depth >= 0:
            action = _next_legal(line, depth)
            if action == act.NUM_ACTIONS:
                depth -= 1
            elif depth + 1 == LONGEST or number == MOST_NODES:
                return TOO_LARGE
            else:
                line.states[depth + 1] = line.states[depth]
                apply(line.states[depth + 1], options[0], action)
                _arrive(line, options, depth + 1, number)
                if fill:
                    nodes[number].deal = deal
                    _connect(line, options, depth, nodes[number])
                line.nth[depth] += 1
                depth += 1
                number += 1
    return number


@compiled
def _arrive(line: Line, options: NDArray[np.void], depth: int, node: int) -> None:
    """Begin with the actions of a state that the line has come to."""
    line.node[depth], line.action[depth], line.nth[depth] = node, NO_ACTION, 0
    line.masks[depth] = 0
    if line.states[depth].phase != OVER:
        legal_actions(line.states[depth], options[0], line.masks[depth])


@compiled
def _next_legal(line: Line, depth: int) -> int:
    """Return the next legal action to try at a depth; `NUM_ACTIONS`: there is no more."""
    action = line.action[depth] + 1
    while action < act.NUM_ACTIONS and line.masks[depth, action] == 0:
        action += 1
    line.action[depth] = action
    return int(action)


@compiled
def _connect(line: Line, options: NDArray[np.void], depth: int, row: Any) -> None:
    """Write the row of the node that the action tried at a depth leads to."""
    row.parent, row.depth = line.node[depth], depth + 1
    row.action, row.nth = line.action[depth], line.nth[depth]
    _count(line, options, depth, row.conduct)
    _describe(line, depth + 1, row)


@compiled
def _count(line: Line, options: NDArray[np.void], depth: int, conduct: NDArray[np.int8]) -> None:
    """Write what the action tried at a depth counts as."""
    line.truth[depth + 1] = line.truth[depth]
    actor = int(line.states[depth].turn)
    count_actions(
        line.states[depth : depth + 1],
        options,
        line.masks[depth : depth + 1],
        line.action[depth : depth + 1],
        line.counts,
        line.decisions,
        line.truth[depth + 1 : depth + 2],
    )
    counts = line.counts[0, actor]
    conduct[0] = counts.claims
    for bucket in counts.lies_by_hand:
        conduct[1] += bucket[FREE]
        conduct[2] += bucket[LIES]
        bucket[:] = 0
    counts.lies_by_size[:] = 0
    for bucket in counts.challenges_by_size:
        conduct[3] += bucket[ASKED]
        conduct[4] += bucket[CHALLENGES]
        conduct[5] += bucket[RIGHT]
        bucket[:] = 0
    counts.claims = 0


@compiled
def _describe(line: Line, depth: int, row: Any) -> None:
    """Write what a row tells of the state itself."""
    table = line.states[depth]
    row.actor = table.turn
    row.group = table.group_size
    row.payoff = table.reward[0]
    row.turned_up = _packed(table.turned_up)
    for seat in range(SEATS):
        row.hands[seat] = _packed(table.hand[seat])
    for legal in line.masks[depth]:
        row.choices += legal


@compiled
def _packed(cards: NDArray[np.int8]) -> int:
    """Return cards (14,) as one number."""
    packed = 0
    for slot in range(SLOTS):
        packed |= int(cards[slot]) << (BITS * slot)
    return packed


@compiled
def observe_nodes(
    nodes: Any,
    found: Ints,
    roots: State,
    options: NDArray[np.void],
    observation: NDArray[np.int8],
    mask: NDArray[np.int8],
) -> None:
    """Play to each node found, and write what the seat to act sees and may do there."""
    actions, room = np.zeros(LONGEST, np.int64), roots[:1].copy()
    for i in range(len(found)):
        node, depth = found[i], nodes[found[i]].depth
        for step in range(depth - 1, -1, -1):
            actions[step] = nodes[node].action
            node = nodes[node].parent
        room[0] = roots[node]
        for step in range(depth):
            apply(room[0], options[0], actions[step])
        encode(room[0], options[0], int(room[0].turn), observation[i])
        legal_actions(room[0], options[0], mask[i])
