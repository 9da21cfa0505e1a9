"""What a seat reckons: whether a challenge pays for the pile, and how many cards a lie may shed.

A wrong challenge costs the whole pile, a right one gives it to one of the others; a lie found out
costs the pile, one that stands saves turns. These sums, not the mere chance of a lie, decide.
"""

from __future__ import annotations

import numpy as np

from agents.counting import (
    VOLUNTARY_LIE,
    Ints,
    chance_of_lie,
    hypergeometric,
    last_claim,
    possible,
    turns_until_asked,
    unlocated,
    unseen,
)
from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import SHOWN
from cheat_env.state import (
    ASKED,
    CAUGHT,
    CHALLENGES,
    CLAIM_SIZES,
    PROVEN,
    TALLIES,
)
from cheat_env.values import DOWN, IMMUNE, UP

AT_RULES = obs.MEMORY.start["rules"]
AT_FEWEST = obs.MEMORY.start["fewest"]
AT_LAST_PLAY = AT_RULES + SHOWN.index("last_play")

#: How many claims that were turned up it takes to outweigh VOLUNTARY_LIE.
LYING_WEIGHT = 5.0
#: How often a seat is taken to challenge for no reason it can see: mean and weight.
CALLING, CALLING_WEIGHT = 0.01, 100.0
#: A claim that would let its author out is challenged where a lie is likelier than this.
LAST_CHANCE = 0.02
#: What a card of the pile counts for, beside a card shed, when a lie is found out; and when a true
#: play makes another take it. Found by trial against `honest_guard` in the English game.
PILE_LOST, PILE_GIVEN = 0.5, 0.3
#: What a card counts for that a caught liar takes, shared among all who gain by it.
LIAR_TAKES = 0.3
#: How much rarer than by chance a seat lacks the rank it is asked for, where ranks run.
SAVING = 0.1
#: How many wrong cards a plan counts on shedding at a turn.
SHED_A_TURN = 2


@compiled
def challenge_pays(o: Ints, reads: bool, memory: bool) -> bool:
    """Say whether a challenge is worth its risk: the pile, against what a caught liar takes."""
    claimant, rank, count = last_claim(o)
    if memory and not possible(o, count, rank, claimant):
        return True
    lying = share_of_lies(o, claimant, count) if reads else VOLUNTARY_LIE
    lie = chance_of_lie(o, count, rank, claimant, lying, SAVING, memory)
    if o[obs.AT_HAND_SIZES + claimant] == 0:
        return lie > LAST_CHANCE
    pile = float(o[obs.AT_PILE_SIZE])
    return lie * LIAR_TAKES * pile / (int(o[obs.AT_PLAYERS]) - 1) > (1 - lie) * pile


@compiled
def share_of_lies(o: Ints, seat: int, size: int) -> float:
    """Return how often a seat's claims of this size were lies where they were turned up."""
    at = obs.AT_TALLIES + (seat * CLAIM_SIZES + min(size, CLAIM_SIZES) - 1) * len(TALLIES)
    caught, proven = float(o[at + CAUGHT]), float(o[at + PROVEN])
    return (caught + VOLUNTARY_LIE * LYING_WEIGHT) / (caught + proven + LYING_WEIGHT)


@compiled
def chance_of_challenge(o: Ints, size: int, memory: bool) -> float:
    """Return the chance that a lie of so many cards at the rank in force is challenged.

    A seat that holds so many cards of the rank that the claim is impossible challenges; others do
    as often as they did with claims of this size.
    """
    if o[obs.AT_SAFE_TURNS] > 0:
        return 0.0
    if o[obs.AT_QUADS] == 1:
        return 1.0
    good = unlocated(o, 0, 0, memory) + unlocated(o, JOKER, 0, memory)
    cards = unseen(o, 0, memory)
    trusted = 1.0
    for seat in range(1, int(o[obs.AT_PLAYERS])):
        held = int(o[obs.AT_HAND_SIZES + seat])
        if held == 0:
            continue
        needed = int(o[obs.AT_COPIES]) + int(o[obs.AT_JOKERS]) - size + 1
        if memory:
            needed -= int(o[obs.AT_KNOWN + (seat - 1) * SLOTS])
        trusted *= 1 - _at_least(cards, good, min(held, cards), needed)
        trusted *= 1 - (_calling(o, seat, size) if memory else CALLING)
        if o[obs.AT_NEXT_CHALLENGES] == 1:
            break
    return 1 - trusted


@compiled
def _at_least(cards: int, good: int, drawn: int, hits: int) -> float:
    """Return the chance of at least `hits` good cards among `drawn` of `cards`."""
    if hits <= 0:
        return 1.0
    chance = 0.0
    for exactly in range(hits, min(good, drawn) + 1):
        chance += hypergeometric(cards, good, drawn, exactly)
    return chance


@compiled
def _calling(o: Ints, seat: int, size: int) -> float:
    """Return how often a seat challenged claims of this size when it was asked."""
    at = obs.AT_TALLIES + (seat * CLAIM_SIZES + min(size, CLAIM_SIZES) - 1) * len(TALLIES)
    asked, made = float(o[at + ASKED]), float(o[at + CHALLENGES])
    return (made + CALLING * CALLING_WEIGHT) / (asked + CALLING_WEIGHT)


# --- Laying ---------------------------------------------------------------------------------------


@compiled
def shed(o: Ints, mask: Ints, plans: bool, memory: bool) -> int:
    """Return the next pick of the play that is worth most, or LAY where it is picked.

    The play is worked out anew at every pick, from the hand as it was before the first of them.
    """
    keep = _saved_rank(o) if plans else -1
    size = _best_size(o, keep, memory)
    true = min(size, int(o[obs.AT_OWN_HAND]))
    if o[obs.AT_PICKED] < true and mask[act.PICK] == 1:
        return act.PICK
    jokers = min(size - true, int(o[obs.AT_OWN_HAND + JOKER]))
    wrong = _lowest_unpicked(o, mask, keep, size - true - jokers)
    if wrong > 0:
        return act.PICK + wrong
    if o[obs.AT_PICKED + JOKER] < jokers and mask[act.PICK_JOKER] == 1:
        return act.PICK_JOKER
    if mask[act.LAY] == 1:
        return act.LAY
    first = act.PICK
    while mask[first] == 0:
        first += 1
    return first


@compiled
def _best_size(o: Ints, keep: int, memory: bool) -> int:
    """Return how many cards to lay: all true ones, and as many wrong ones as a lie can bear."""
    hand, pile = int(o[obs.AT_HAND_SIZES]), float(o[obs.AT_PILE_SIZE])
    true = int(o[obs.AT_OWN_HAND]) + int(o[obs.AT_OWN_HAND + JOKER])
    fewest, most = min(int(o[AT_FEWEST]), hand), min(int(o[obs.AT_MOST]), hand)
    spare = hand - int(o[obs.AT_OWN_HAND + keep]) if keep > 0 else hand
    best, value = max(fewest, min(true, most)), -1e9
    for size in range(best, most + 1):
        if size > max(true, spare, fewest):
            break
        called = chance_of_challenge(o, size, memory)
        if size == hand and o[obs.AT_SAFE_TURNS] == 0:  # most challenge a last play always
            called = 0.0 if o[AT_LAST_PLAY] == IMMUNE else 1.0
        if size > true:
            worth = size * (1 - called) - called * PILE_LOST * pile
        else:
            worth = size + called * PILE_GIVEN * pile
        if worth > value:
            best, value = size, worth
    return best


@compiled
def _saved_rank(o: Ints) -> int:
    """Return the relative rank to save for the last play, or -1: true then, whoever challenges.

    It is the one asked for soonest by when the other cards can be shed, turn by turn.
    """
    if o[obs.AT_PROGRESSION + UP] == 0 and o[obs.AT_PROGRESSION + DOWN] == 0:
        return -1
    ranks, hand = int(o[obs.AT_NUM_RANKS]), int(o[obs.AT_HAND_SIZES])
    for turns in range(1, ranks):
        rank = _asked_after(o, turns)
        held, shed_by_then = int(o[obs.AT_OWN_HAND + rank]), 0
        for turn in range(turns):
            there = int(o[obs.AT_OWN_HAND + _asked_after(o, turn)])
            shed_by_then += max(SHED_A_TURN, min(int(o[obs.AT_MOST]), there))
        if held > 0 and turns <= hand - held <= shed_by_then:
            return rank
    return -1


@compiled
def _asked_after(o: Ints, turns: int) -> int:
    """Return the relative rank that the seat is asked for after so many of its turns."""
    step = int(o[obs.AT_PLAYERS]) * turns
    ranks = int(o[obs.AT_NUM_RANKS])
    return step % ranks if o[obs.AT_PROGRESSION + UP] == 1 else (ranks - step % ranks) % ranks


@compiled
def _lowest_unpicked(o: Ints, mask: Ints, keep: int, wrong: int) -> int:
    """Return the lowest rank still to pick of the `wrong` cards that are needed last, or 0."""
    chosen = np.zeros(NUM_RANKS, np.int8)
    for _ in range(wrong):
        best, value = 0, -1
        for r in range(1, int(o[obs.AT_NUM_RANKS])):
            need = 0 if r == keep else turns_until_asked(o, r)
            if o[obs.AT_OWN_HAND + r] > chosen[r] and need > value:
                best, value = r, need
        chosen[best] += 1
    for r in range(1, NUM_RANKS):
        if chosen[r] > o[obs.AT_PICKED + r] and mask[act.PICK + r] == 1:
            return r
    return 0
