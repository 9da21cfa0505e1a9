"""A small game of two seats written out: its information states, and what agents do in them.

Two nodes are one information state of a seat where all that it has seen is the same: its hand after
every action, its own actions, those of the other seat that are public, and the cards that were
turned up. So a seat forgets nothing. Where only one action is legal there is no information state:
forced moves are played.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents import Agent
from agents.base import Mixing
from cheat_env import Rules
from cheat_env import actions as act
from cheat_env.observations import MEMORY, layout
from cheat_env.state import State
from train.lines import CONDUCT, NO_ACTION, SEATS, deals, observe_nodes, play_out
from train.solver import Floats, Game, Ints, Merged, Policy, Seat, reach


@dataclass(frozen=True)
class Tree:
    """A game written out.

    Attributes:
        game: its sequence form.
        nodes: `NODES` (n,), each after its parent; the deals come first.
        chance: float64 (deals,), the probability of each deal.
        sequences: for each seat, int64 (n,), the sequence that leads to each node.
        met: for each seat, int64 (m,), the first node of each information state.
        roots: State (deals,).
        options: the rules, (1,).
    """

    game: Game
    nodes: NDArray[np.void]
    chance: Floats
    sequences: tuple[Ints, Ints]
    met: tuple[Ints, Ints]
    roots: State
    options: NDArray[np.void]

    def look(self, seat: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return what a seat observes in its information states, int8 (m, D), and masks (m, 46)."""
        found = self.met[seat]
        observation = np.zeros((len(found), MEMORY.size), np.int8)
        mask = np.zeros((len(found), act.NUM_ACTIONS), np.int8)
        observe_nodes(self.nodes, found, self.roots, self.options, observation, mask)
        return observation, mask

    def reached(self, policy: Policy) -> Floats:
        """Return the probability of every node, float64 (n,), where both seats play the policy."""
        first, second = map(reach, self.game.seats, policy)
        chance: Floats = self.chance[self.nodes["deal"]]
        return chance * first[self.sequences[0]] * second[self.sequences[1]]

    def conduct(self, policy: Policy) -> dict[str, float]:
        """Return how often a deal sees each of `CONDUCT`, where both seats play the policy."""
        often = self.reached(policy) @ self.nodes["conduct"]
        return dict(zip(CONDUCT, often.tolist(), strict=True))


def write_out(rules: Rules) -> Tree:
    """Return a game written out; raises `RulesError` where it is too large or not for this."""
    roots, chance = deals(rules)
    options = np.array([rules.options(SEATS)])
    nodes = play_out(roots, options)
    levels = _levels(nodes)
    parts = [_information_states(nodes, levels, seat) for seat in range(SEATS)]
    (first, first_sequences, first_met), (second, second_sequences, second_met) = parts
    paid = np.flatnonzero(nodes["payoff"])
    game = Game(
        (first, second),
        (first_sequences[paid], second_sequences[paid]),
        chance[nodes["deal"][paid]],
        nodes["payoff"][paid].astype(np.float64),
    )
    sequences, met = (first_sequences, second_sequences), (first_met, second_met)
    return Tree(game, nodes, chance, sequences, met, roots, options)


# --- Information states ---------------------------------------------------------------------------


def _levels(nodes: NDArray[np.void]) -> list[Ints]:
    """Return the nodes of every depth."""
    order = np.argsort(nodes["depth"], kind="stable")
    return np.split(order, np.cumsum(np.bincount(nodes["depth"]))[:-1])


def _information_states(
    nodes: NDArray[np.void], levels: list[Ints], seat: int
) -> tuple[Seat, Ints, Ints]:
    """Return a seat's part of the sequence form, its sequence at each node (n,), and `Tree.met`."""
    view = _views(nodes, levels, seat)
    asked = np.flatnonzero((nodes["actor"] == seat) & (nodes["choices"] > 1))
    _, first, inverse = np.unique(view[asked], return_index=True, return_inverse=True)
    met, state = asked[first], np.full(len(nodes), -1)
    state[asked] = inverse
    start = 1 + np.concatenate(([0], np.cumsum(nodes["choices"][met], dtype=np.int64)))
    sequence = np.zeros(len(nodes), np.int64)
    for level in levels[1:]:
        before = nodes["parent"][level]
        chosen = start[state[before]] + nodes["nth"][level]
        sequence[level] = np.where(state[before] >= 0, chosen, sequence[before])
    return Seat(sequence[met], start), sequence, met


def _views(nodes: NDArray[np.void], levels: list[Ints], seat: int) -> Ints:
    """Return a number (n,) for all that a seat has seen up to each node; later ones are larger."""
    view = np.zeros(len(nodes), np.int64)
    for level in levels:
        rows = nodes[level]
        before = rows["parent"]
        hidden = (nodes["actor"][before] != seat) & (rows["action"] < act.LAY)
        action = np.where(hidden, NO_ACTION, rows["action"])
        seen = (rows["hands"][:, seat], rows["turned_up"], rows["group"], action)
        view[level] = 1 + view.max() + _numbers(view[before], *seen)
    return view


def _numbers(*columns: NDArray[Any]) -> Ints:
    """Return numbers (n,) from 0 that are equal where all columns (n,) are."""
    order = np.lexsort(columns)
    new = np.zeros(len(order), np.bool_)
    for column in columns:
        new[1:] |= column[order][1:] != column[order][:-1]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = new.cumsum()
    return numbers


# --- What agents do -------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a seat sees in its information states: k different observations with their masks."""

    observation: NDArray[np.int8]
    """(k, D)."""
    mask: NDArray[np.int8]
    """(k, 46), the legal actions."""
    which: Ints
    """(m,), the observation of each information state."""
    first: Ints
    """(k,), the first information state of each observation."""


def look(tree: Tree, observation: str) -> tuple[Seen, Seen]:
    """Return what each seat sees by an observation, "table" or "memory"; raises `RulesError`."""
    size = layout(observation).size
    first, second = (_seen(*tree.look(seat), size) for seat in range(SEATS))
    return first, second


def _seen(observation: NDArray[np.int8], mask: NDArray[np.int8], size: int) -> Seen:
    """Return the different rows of observations, cut to a size, with their masks."""
    rows = np.concatenate((observation[:, :size], mask), axis=1)
    keys = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return Seen(np.ascontiguousarray(rows[first, :size]), mask[first], which, first)


def merge(tree: Tree, seen: tuple[Seen, Seen]) -> Merged:
    """Return the information states merged that a seat sees alike."""
    first, second = (
        seat.start[own.first][own.which] for seat, own in zip(tree.game.seats, seen, strict=True)
    )
    return first, second


def policy_of(agent: Agent, seen: tuple[Seen, Seen], draws: int, seed: int) -> Policy:
    """Return the probability of every action of an agent that sits in both seats.

    An agent that is no `Mixing` is asked `draws` times for its action in every observation, and
    each probability is a share of these.
    """
    rng = np.random.default_rng(seed)
    first, second = (_behaviour(agent, own, draws, rng) for own in seen)
    return first, second


def _behaviour(agent: Agent, seen: Seen, draws: int, rng: np.random.Generator) -> Floats:
    """Return an agent's part of a `Policy`, float64 (sequences,)."""
    if isinstance(agent, Mixing):
        found = agent.probabilities(seen.observation, seen.mask).astype(np.float64)
    else:
        found = np.zeros(seen.mask.shape)
        for _ in range(draws):
            actions = agent.act(seen.observation, seen.mask, rng)
            found[np.arange(len(found)), actions] += 1 / draws
    legal = seen.mask[seen.which] == 1
    return np.concatenate(([1.0], found[seen.which][legal]))
