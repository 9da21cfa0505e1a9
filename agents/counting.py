"""What a seat can work out from what it sees: where cards may be, and how likely a claim is a lie.

Compiled, on one observation row (see `cheat_env.observations`); with `memory` a seat also counts
what it remembers: its own cards in piles, and cards that others are known to hold.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env import observations as obs
from cheat_env import values
from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import MAX_CARDS, SHOWN

#: An observation or a mask; habits or draws.
Ints: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float64]

AT_PASSING, AT_BELIEVE = (
    obs.MEMORY.start["rules"] + SHOWN.index(name) for name in ("passing", "believe")
)
#: What a seat believes of its opponents: how often they lie when they could be honest, and how
#: many cards (1, 2, 3 and more) a lie has.
VOLUNTARY_LIE = 0.1
LIE_SIZES = (0.7, 0.2, 0.1)
#: Logarithms of the factorials of 0 to the most cards of a deck.
LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(MAX_CARDS + 1)])


@compiled
def last_claim(o: Ints) -> tuple[int, int, int]:
    """Return the last claim: the seat that made it, its relative rank, and how many cards."""
    return int(o[obs.AT_RECENT]) - 1, int(o[obs.AT_RECENT + 1]), int(o[obs.AT_RECENT + 2])


@compiled
def possible(o: Ints, count: int, rank: int, claimant: int) -> bool:
    """Say whether a claim could be true, with jokers if there are any."""
    left = unlocated(o, rank, claimant, True)
    return count <= left or (
        o[obs.AT_JOKERS] > 0 and count <= left + unlocated(o, JOKER, claimant, True)
    )


@compiled
def unlocated(o: Ints, slot: int, claimant: int, memory: bool) -> int:
    """Return how many cards of a relative rank, or jokers, the claimant could have held at most.

    Cards that lie aside or were burnt by others may be anywhere, as far as the observer knows.
    """
    if slot == JOKER:
        left = int(o[obs.AT_JOKERS])
    elif o[obs.AT_QUADS + slot] == 1:
        return 0
    else:
        left = int(o[obs.AT_COPIES])
    left -= int(o[obs.AT_OWN_HAND + slot]) + int(o[obs.AT_GONE + slot])
    if not memory:
        return left
    left -= int(o[obs.AT_OWN_PILE + slot]) + int(o[obs.AT_OWN_BURNT + slot])
    for other in range(1, int(o[obs.AT_PLAYERS])):
        if other != claimant:
            left -= int(o[obs.AT_KNOWN + (other - 1) * SLOTS + slot])
    return left


@compiled
def chance_of_lie(
    o: Ints, count: int, rank: int, claimant: int, lying: float, saving: float, memory: bool
) -> float:
    """Return the chance that a claim is a lie, by Bayes' rule on what the observer can locate.

    The claimant's cards of the rank, and its jokers, are hypergeometric among the cards the
    observer can't locate. An honest claimant lays all that it may of the rank, or having none one
    joker; one that has neither must lie, unless it had another way (see `_choice`); a liar by
    choice, chance `lying`, names any rank that it may; a lie has 1, 2 or more cards with
    chances LIE_SIZES.
    """
    known = obs.AT_KNOWN + (claimant - 1) * SLOTS
    if memory and (o[known + rank] > 0 or (count == 1 and o[known + JOKER] > 0)):
        return lying
    left = unlocated(o, rank, claimant, memory)
    jokers = unlocated(o, JOKER, claimant, memory)
    cards = unseen(o, claimant, memory)
    held = min(int(o[obs.AT_HAND_SIZES + claimant]) + count, cards)
    none = hypergeometric(cards, left + jokers, held, 0)
    size = LIE_SIZES[min(count, 3) - 1]
    if o[obs.AT_MOST] == 1:
        truth, size = 1 - none, 1.0
    else:
        truth = hypergeometric(cards, left, held, count)
        if count == 1 and jokers > 0:
            truth += hypergeometric(cards, left, held, 0) - none
    must, ranks = _choice(o, saving)
    lie = (must * none + lying * (1 - none)) * size / ranks
    return lie / (lie + (1 - lying) * truth)


@compiled
def _choice(o: Ints, saving: float) -> tuple[float, int]:
    """Return how likely a claimant without the rank lies, and among how many ranks it chose.

    A rank that is free or near the last, and a pass or belief, are ways to do without a lie. Where
    ranks run, seats save cards that they will be asked for: only the part `saving` of those that
    would hold none in a hand dealt at random does so.
    """
    led = o[obs.AT_PILE_SIZE] == o[obs.AT_GROUP_SIZE]
    bound = (
        o[obs.AT_PROGRESSION + values.ADJACENT] + o[obs.AT_PROGRESSION + values.SAME_OR_ADJACENT]
    )
    if bound == 1 and not led:
        return VOLUNTARY_LIE, 2 + int(o[obs.AT_PROGRESSION + values.SAME_OR_ADJACENT])
    if bound == 1 or o[obs.AT_PROGRESSION + values.FREE] == 1:
        return VOLUNTARY_LIE, int(o[obs.AT_NUM_RANKS])
    if o[AT_PASSING] != values.NO_PASS or o[AT_BELIEVE] != values.NO_BELIEF:
        if not led:
            return VOLUNTARY_LIE, 1
        if o[obs.AT_PROGRESSION + values.FIXED] == 1:
            return VOLUNTARY_LIE, int(o[obs.AT_NUM_RANKS])
    runs = o[obs.AT_PROGRESSION + values.UP] + o[obs.AT_PROGRESSION + values.DOWN]
    return (saving if runs == 1 else 1.0), 1


@compiled
def unseen(o: Ints, claimant: int, memory: bool) -> int:
    """Return how many cards the observer can't locate outside the claimant's hand."""
    cards = int(o[obs.AT_COPIES]) * int(o[obs.AT_NUM_RANKS]) + int(o[obs.AT_JOKERS])
    cards -= int(o[obs.AT_HAND_SIZES])
    for rank in range(NUM_RANKS):
        cards -= int(o[obs.AT_COPIES]) * int(o[obs.AT_QUADS + rank])
    for slot in range(SLOTS):
        cards -= int(o[obs.AT_GONE + slot])
    if not memory:
        return cards
    for slot in range(SLOTS):
        cards -= int(o[obs.AT_OWN_PILE + slot]) + int(o[obs.AT_OWN_BURNT + slot])
    for other in range(1, int(o[obs.AT_PLAYERS])):
        if other != claimant:
            for place in range(SLOTS * (other - 1), SLOTS * other):
                cards -= int(o[obs.AT_KNOWN + place])
    return cards


@compiled
def hypergeometric(cards: int, good: int, drawn: int, hits: int) -> float:
    """Return the chance of exactly `hits` good cards among `drawn` of `cards`."""
    if hits > good or hits > drawn or drawn - hits > cards - good:
        return 0.0
    return math.exp(
        _log_choose(good, hits)
        + _log_choose(cards - good, drawn - hits)
        - _log_choose(cards, drawn)
    )


@compiled
def _log_choose(n: int, k: int) -> float:
    return float(LOG_FACTORIAL[n] - LOG_FACTORIAL[k] - LOG_FACTORIAL[n - k])


@compiled
def turns_until_asked(o: Ints, r: int) -> int:
    """Return after how many of its turns a seat is asked for relative rank r, if nobody challenges.

    Where the rank does not run, return a number that is larger the fewer of them it holds.
    """
    ranks, players = int(o[obs.AT_NUM_RANKS]), int(o[obs.AT_PLAYERS])
    step = players
    if o[obs.AT_PROGRESSION + values.DOWN] == 1:
        step = ranks * players - players
    elif o[obs.AT_PROGRESSION + values.UP] == 0:
        return int(o[obs.AT_COPIES]) - int(o[obs.AT_OWN_HAND + r])
    for turn in range(1, ranks):
        if turn * step % ranks == r:
            return turn
    return ranks
