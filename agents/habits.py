"""Players by rule of thumb: one compiled rule whose habits are numbers.

Every heuristic is a setting of the same few habits, so a whole mixture of opponents acts in one
call, each row with habits of its own. A rule decides each pick as it comes and keeps no plan.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env.cards import NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.values import DOWN, UP


class Habits(NamedTuple):
    """The habits of a rule; each is a chance, a threshold or a switch, from 0 to 1."""

    lie: float = 0.0
    """Chance of lying though it holds the rank."""
    call: float = 0.0
    """Chance of challenging for no reason."""
    certain: float = 1.0
    """Whether it challenges claims that it can see to be impossible."""
    guard: float = 0.0
    """Whether it challenges a claimant that would go out."""
    odds: float = 1.0
    """Challenges where it thinks a lie likelier than this."""
    extra: float = 0.0
    """Chance of adding a further card to a lie, for each; 1: as many cards as it may."""
    mix: float = 0.0
    """Chance of adding a wrong card to true ones."""
    noise: float = 0.0
    """Chance of lying with any card instead of the one that it needs last."""


#: What `counter` believes of its opponents: how often they lie when they could be honest, and how
#: many cards (1, 2, 3 and more) a lie has.
VOLUNTARY_LIE = 0.1
LIE_SIZES = (0.7, 0.2, 0.1)

#: Random numbers that one decision may use.
DRAWS = 4
_LIE, _CALL, _CERTAIN, _GUARD, _ODDS, _EXTRA, _MIX, _NOISE = range(len(Habits()))


class HabitAgent:
    """A heuristic: the compiled rule with one set of habits for all its seats."""

    observation = "memory"

    def __init__(self, name: str, habits: Habits) -> None:
        self.name = name
        self.habits = np.array(habits, np.float64)

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        n = len(observation)
        habits = np.broadcast_to(self.habits, (n, len(self.habits)))
        actions = np.zeros(n, np.int64)
        act_by_habits(
            observation, action_mask, habits, rng.random((n, DRAWS)), np.ones(n, np.bool_), actions
        )
        return actions


@compiled
def act_by_habits(
    observation: NDArray[np.int8],
    mask: NDArray[np.int8],
    habits: NDArray[np.float64],
    draws: NDArray[np.float64],
    acts: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """Write an action for every row that `acts`: habits (n, 8), draws (n, 4) in 0 .. 1."""
    for i in range(len(acts)):
        if acts[i]:
            actions[i] = _decide(observation[i], mask[i], habits[i], draws[i])


@compiled
def _decide(
    o: NDArray[np.int8], mask: NDArray[np.int8], h: NDArray[np.float64], u: NDArray[np.float64]
) -> int:
    if mask[act.CHALLENGE] == 1 and _suspects(o, h, u):
        return act.CHALLENGE
    if mask[act.ACCEPT] == 1:
        return act.ACCEPT
    if mask[act.KEEP] == 1:
        return _first(mask, act.DISCARD, act.KEEP)
    if o[obs.AT_PHASE] == 1:
        return _announce(o, mask, h, u)
    return _pick_or_lay(o, mask, h, u)


@compiled
def _first(mask: NDArray[np.int8], start: int, stop: int) -> int:
    """Return the first legal action of a stretch; there is one."""
    action = start
    while mask[action] == 0 and action < stop:
        action += 1
    return action


# --- Challenging ----------------------------------------------------------------------------------


@compiled
def _suspects(o: NDArray[np.int8], h: NDArray[np.float64], u: NDArray[np.float64]) -> bool:
    """Say whether the rule challenges the pending claim."""
    if u[0] < h[_CALL]:
        return True
    count, rank = int(o[obs.AT_RECENT + 2]), int(o[obs.AT_RECENT + 1])
    claimant = int(o[obs.AT_RECENT]) - 1
    emptied = o[obs.AT_HAND_SIZES + claimant] == 0
    if h[_GUARD] > 0 and emptied:
        return True
    if h[_CERTAIN] > 0 and count > _unlocated(o, rank, claimant):
        return True
    return h[_ODDS] < 1 and chance_of_lie(o, count, rank, claimant) > h[_ODDS]


@compiled
def _unlocated(o: NDArray[np.int8], rank: int, claimant: int) -> int:
    """Return how many cards of a relative rank the claimant could have held at most."""
    if o[obs.AT_QUADS + rank] == 1:
        return 0
    left = int(o[obs.AT_COPIES]) - int(o[obs.AT_OWN_HAND + rank]) - int(o[obs.AT_OWN_PILE + rank])
    for other in range(1, int(o[obs.AT_PLAYERS])):
        if other != claimant:
            left -= int(o[obs.AT_KNOWN + (other - 1) * SLOTS + rank])
    return left


@compiled
def chance_of_lie(o: NDArray[np.int8], count: int, rank: int, claimant: int) -> float:
    """Return the chance that a claim is a lie, by Bayes' rule on what the observer can locate.

    The claimant's cards of the rank are hypergeometric among the cards the observer can't locate.
    An honest claimant lays all it holds; one that holds none must lie, one that holds some lies
    with chance VOLUNTARY_LIE; a lie has 1, 2 or more cards with chances LIE_SIZES.
    """
    if o[obs.AT_KNOWN + (claimant - 1) * SLOTS + rank] > 0:
        return VOLUNTARY_LIE
    left, unseen = _unlocated(o, rank, claimant), _unseen(o, claimant)
    held = min(int(o[obs.AT_HAND_SIZES + claimant]) + count, unseen)
    truth = (1 - VOLUNTARY_LIE) * _hypergeometric(unseen, left, held, count)
    none = _hypergeometric(unseen, left, held, 0)
    lie = (none + VOLUNTARY_LIE * (1 - none)) * LIE_SIZES[min(count, 3) - 1]
    return lie / (lie + truth)


@compiled
def _unseen(o: NDArray[np.int8], claimant: int) -> int:
    """Return how many cards the observer can't locate outside the claimant's hand."""
    unseen = int(o[obs.AT_COPIES]) * int(o[obs.AT_NUM_RANKS])
    for rank in range(int(o[obs.AT_NUM_RANKS])):
        unseen -= int(o[obs.AT_OWN_HAND + rank]) + int(o[obs.AT_OWN_PILE + rank])
        unseen -= int(o[obs.AT_COPIES]) if o[obs.AT_QUADS + rank] == 1 else 0
        for other in range(1, int(o[obs.AT_PLAYERS])):
            if other != claimant:
                unseen -= int(o[obs.AT_KNOWN + (other - 1) * SLOTS + rank])
    return unseen


@compiled
def _hypergeometric(cards: int, good: int, drawn: int, hits: int) -> float:
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
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


# --- Laying ---------------------------------------------------------------------------------------


@compiled
def _announce(
    o: NDArray[np.int8], mask: NDArray[np.int8], h: NDArray[np.float64], u: NDArray[np.float64]
) -> int:
    """Announce the rank it holds most of; a liar any rank."""
    first = u[0] * NUM_RANKS if u[1] < h[_LIE] else 0.0
    best, most = act.ANNOUNCE_RANK, -1
    for i in range(NUM_RANKS):
        r = (int(first) + i) % NUM_RANKS
        if mask[act.ANNOUNCE_RANK + r] == 1:
            if u[1] < h[_LIE]:
                return act.ANNOUNCE_RANK + r
            if o[obs.AT_OWN_HAND + r] > most:
                best, most = act.ANNOUNCE_RANK + r, int(o[obs.AT_OWN_HAND + r])
    return best


@compiled
def _pick_or_lay(
    o: NDArray[np.int8], mask: NDArray[np.int8], h: NDArray[np.float64], u: NDArray[np.float64]
) -> int:
    """Lay every true card; or, having none or choosing to lie, the card it needs last.

    A rule that always adds further cards picks from the lowest rank, so that none is in the way.
    """
    if h[_EXTRA] >= 1 and _first(mask, act.PICK, act.LAY) < act.LAY:
        return _first(mask, act.PICK, act.LAY)
    picked = 0
    for slot in range(SLOTS):
        picked += int(o[obs.AT_PICKED + slot])
    honest = int(o[obs.AT_PICKED]) == picked
    if mask[act.PICK] == 1 and honest and (picked > 0 or u[0] >= h[_LIE]):
        return act.PICK
    chance = 1.0 if picked == 0 else h[_MIX] if honest else h[_EXTRA]
    if mask[act.LAY] == 0 or u[1] < chance:
        wrong = _needed_last(o, mask, h, u)
        if wrong > 0:
            return act.PICK + wrong
    return act.LAY if mask[act.LAY] == 1 else _first(mask, act.PICK, act.LAY)


@compiled
def _needed_last(
    o: NDArray[np.int8], mask: NDArray[np.int8], h: NDArray[np.float64], u: NDArray[np.float64]
) -> int:
    """Return the relative rank of the wrong card to lay, or 0 where only true ones are left.

    Where the rank rises or falls it is the card that the seat will be asked for last; elsewhere
    one of which it holds fewest.
    """
    best, value = 0, -1.0
    for r in range(1, int(o[obs.AT_NUM_RANKS])):
        if mask[act.PICK + r] == 1:
            need = float(_turns_until_asked(o, r))
            if u[2] < h[_NOISE]:
                need = (u[3] * 1009.0 * (r + 1)) % 1.0  # any of them, by the same draw
            if need > value:
                best, value = r, need
    return best


@compiled
def _turns_until_asked(o: NDArray[np.int8], r: int) -> int:
    """Return after how many of its turns a seat is asked for relative rank r, if nobody challenges.

    Where the rank does not run, return a number that is larger the fewer of them it holds.
    """
    ranks, players = int(o[obs.AT_NUM_RANKS]), int(o[obs.AT_PLAYERS])
    step = players
    if o[obs.AT_PROGRESSION + DOWN] == 1:
        step = ranks * players - players
    elif o[obs.AT_PROGRESSION + UP] == 0:
        return int(o[obs.AT_COPIES]) - int(o[obs.AT_OWN_HAND + r])
    for turn in range(1, ranks):
        if turn * step % ranks == r:
            return turn
    return ranks
