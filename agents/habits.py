"""Players by rule of thumb: one compiled rule whose habits are numbers.

Every heuristic is a setting of the same few habits, so a whole mixture of opponents acts in one
call, each row with habits of its own. A rule decides each pick as it comes and keeps no plan. It
reads the options of the game in the observation, so the same words hold for every game:

- It announces the rank of which it holds most, and lays every true card. Jokers are true too: it
  keeps them until it would have to lie without one, and then lays one.
- Where nothing true can be laid, it believes the last claim if it may: always, or if it counts
  cards (odds < 1) where a lie is no likelier than 1 - odds. Else it passes if it may, unless no
  rank that it holds can come up for it by that. Else it lies, with a single card.
- The chance `lie` is that of lying where it could lay true cards, believe or pass.
- It never challenges where a lie found out would put everything back as it was (the same seat leads
  with the same cards at the same rank), unless the claimant would go out.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env import values
from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import SHOWN

#: An observation or a mask; habits or draws.
Ints: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float64]


class Habits(NamedTuple):
    """The habits of a rule; each is a chance, a threshold or a switch, from 0 to 1."""

    lie: float = 0.0
    """Chance of lying though it could lay true cards, believe or pass."""
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
#: Places in an observation: the fewest cards of a play, and the values of some options.
AT_FEWEST = obs.MEMORY.start["fewest"]
AT_PASSING, AT_ALL_PASS, AT_BELIEVE, AT_LIE_LEADER, AT_AFTER_CHALLENGE = (
    obs.MEMORY.start["rules"] + SHOWN.index(name)
    for name in ("passing", "all_pass", "believe", "lie_leader", "rank_after_challenge")
)


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
def _decide(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
    if mask[act.CHALLENGE] == 1 and _suspects(o, h, u) and not _in_vain(o):
        return act.CHALLENGE
    if mask[act.ACCEPT] == 1:
        return act.ACCEPT
    if mask[act.KEEP] == 1:
        return _first(mask, act.DISCARD, act.KEEP)
    if mask[act.BELIEVE] == 1 or mask[act.PASS] == 1:
        action = _instead_of_lying(o, mask, h, u)
        if action >= 0:
            return action
    if o[obs.AT_PHASE] == 1:
        return _announce(o, mask, h, u)
    return _pick_or_lay(o, mask, h, u)


@compiled
def _first(mask: Ints, start: int, stop: int) -> int:
    """Return the first legal action of a stretch; there is one."""
    action = start
    while mask[action] == 0 and action < stop:
        action += 1
    return action


# --- Challenging ----------------------------------------------------------------------------------


@compiled
def _suspects(o: Ints, h: Floats, u: Floats) -> bool:
    """Say whether the rule would challenge the pending claim."""
    claimant, rank, count = _last_claim(o)
    emptied = o[obs.AT_HAND_SIZES + claimant] == 0
    if u[0] < h[_CALL] or (h[_GUARD] > 0 and emptied):
        return True
    if h[_CERTAIN] > 0 and not _possible(o, count, rank, claimant):
        return True
    return h[_ODDS] < 1 and chance_of_lie(o, count, rank, claimant) > h[_ODDS]


@compiled
def _last_claim(o: Ints) -> tuple[int, int, int]:
    """Return the last claim: the seat that made it, its relative rank, and how many cards."""
    return int(o[obs.AT_RECENT]) - 1, int(o[obs.AT_RECENT + 1]), int(o[obs.AT_RECENT + 2])


@compiled
def _in_vain(o: Ints) -> bool:
    """Say whether a lie found out would only give its author the same turn again.

    A claimant that would go out is stopped all the same.
    """
    leader = o[AT_LIE_LEADER]
    again = o[AT_AFTER_CHALLENGE] == values.SAME and leader in (values.PICKER, values.CLAIMANT)
    emptied = o[obs.AT_HAND_SIZES + int(o[obs.AT_RECENT]) - 1] == 0
    return bool(again and not emptied and o[obs.AT_PILE_SIZE] == o[obs.AT_GROUP_SIZE])


@compiled
def _possible(o: Ints, count: int, rank: int, claimant: int) -> bool:
    """Say whether a claim could be true, with jokers if there are any."""
    left = _unlocated(o, rank, claimant)
    return count <= left or (
        o[obs.AT_JOKERS] > 0 and count <= left + _unlocated(o, JOKER, claimant)
    )


@compiled
def _unlocated(o: Ints, slot: int, claimant: int) -> int:
    """Return how many cards of a relative rank, or jokers, the claimant could have held at most.

    Cards that lie aside or were burnt by others may be anywhere, as far as the observer knows.
    """
    if slot == JOKER:
        left = int(o[obs.AT_JOKERS])
    elif o[obs.AT_QUADS + slot] == 1:
        return 0
    else:
        left = int(o[obs.AT_COPIES])
    left -= int(o[obs.AT_OWN_HAND + slot]) + int(o[obs.AT_OWN_PILE + slot])
    left -= int(o[obs.AT_OWN_BURNT + slot]) + int(o[obs.AT_GONE + slot])
    for other in range(1, int(o[obs.AT_PLAYERS])):
        if other != claimant:
            left -= int(o[obs.AT_KNOWN + (other - 1) * SLOTS + slot])
    return left


@compiled
def chance_of_lie(o: Ints, count: int, rank: int, claimant: int) -> float:
    """Return the chance that a claim is a lie, by Bayes' rule on what the observer can locate.

    The claimant's cards of the rank, and its jokers, are hypergeometric among the cards the
    observer can't locate. An honest claimant lays all that it may of the rank, or having none one
    joker; one that has neither must lie, unless it had another way (see `_choice`); a liar by
    choice, chance VOLUNTARY_LIE, names any rank that it may; a lie has 1, 2 or more cards with
    chances LIE_SIZES.
    """
    known = obs.AT_KNOWN + (claimant - 1) * SLOTS
    if o[known + rank] > 0 or (count == 1 and o[known + JOKER] > 0):
        return VOLUNTARY_LIE
    left, jokers = _unlocated(o, rank, claimant), _unlocated(o, JOKER, claimant)
    unseen = _unseen(o, claimant)
    held = min(int(o[obs.AT_HAND_SIZES + claimant]) + count, unseen)
    none = _hypergeometric(unseen, left + jokers, held, 0)
    size = LIE_SIZES[min(count, 3) - 1]
    if o[obs.AT_MOST] == 1:
        truth, size = 1 - none, 1.0
    else:
        truth = _hypergeometric(unseen, left, held, count)
        if count == 1 and jokers > 0:
            truth += _hypergeometric(unseen, left, held, 0) - none
    must, ranks = _choice(o)
    lie = (must * none + VOLUNTARY_LIE * (1 - none)) * size / ranks
    return lie / (lie + (1 - VOLUNTARY_LIE) * truth)


@compiled
def _choice(o: Ints) -> tuple[float, int]:
    """Return how likely a claimant without the rank lies, and among how many ranks it chose.

    A rank that is free or near the last, and a pass or belief, are ways to do without a lie.
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
    return 1.0, 1


@compiled
def _unseen(o: Ints, claimant: int) -> int:
    """Return how many cards the observer can't locate outside the claimant's hand."""
    unseen = int(o[obs.AT_COPIES]) * int(o[obs.AT_NUM_RANKS]) + int(o[obs.AT_JOKERS])
    unseen -= int(o[obs.AT_HAND_SIZES])
    for rank in range(NUM_RANKS):
        unseen -= int(o[obs.AT_COPIES]) * int(o[obs.AT_QUADS + rank])
    for slot in range(SLOTS):
        unseen -= int(o[obs.AT_OWN_PILE + slot])
        unseen -= int(o[obs.AT_OWN_BURNT + slot]) + int(o[obs.AT_GONE + slot])
    for other in range(1, int(o[obs.AT_PLAYERS])):
        if other != claimant:
            for place in range(SLOTS * (other - 1), SLOTS * other):
                unseen -= int(o[obs.AT_KNOWN + place])
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


# --- Believing and passing ------------------------------------------------------------------------


@compiled
def _instead_of_lying(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
    """Return BELIEVE or PASS where the rule would lie without it, else -1."""
    if u[1] < h[_LIE] or _has_true_play(o, mask):
        return -1
    if mask[act.BELIEVE] == 1 and _believes(o, h):
        return act.BELIEVE
    return act.PASS if mask[act.PASS] == 1 and _waiting_helps(o) else -1


@compiled
def _has_true_play(o: Ints, mask: Ints) -> bool:
    """Say whether it holds enough cards of a rank that it may claim, counting jokers."""
    fewest = min(int(o[AT_FEWEST]), int(o[obs.AT_HAND_SIZES])) - int(o[obs.AT_OWN_HAND + JOKER])
    if o[obs.AT_PHASE] == 0:
        return int(o[obs.AT_OWN_HAND]) >= fewest
    for r in range(NUM_RANKS):
        if mask[act.ANNOUNCE_RANK + r] == 1 and o[obs.AT_OWN_HAND + r] >= fewest:
            return True
    return False


@compiled
def _believes(o: Ints, h: Floats) -> bool:
    """Say whether the rule, which does not challenge the last claim, takes it to be true."""
    claimant, rank, count = _last_claim(o)
    return h[_ODDS] >= 1 or chance_of_lie(o, count, rank, claimant) <= 1 - h[_ODDS]


@compiled
def _waiting_helps(o: Ints) -> bool:
    """Say whether passing can bring it to a rank that it holds: else all might pass for ever."""
    if o[AT_ALL_PASS] == values.BURN_PILE:
        return True
    ranks = int(o[obs.AT_NUM_RANKS])
    runs = o[obs.AT_PROGRESSION + values.UP] == 1 or o[obs.AT_PROGRESSION + values.DOWN] == 1
    for r in range(1, ranks):
        if runs and o[obs.AT_OWN_HAND + r] > 0 and _turns_until_asked(o, r) < ranks:
            return True
    return False


# --- Laying ---------------------------------------------------------------------------------------


@compiled
def _announce(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
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
def _pick_or_lay(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
    """Lay every true card, or else a joker; or, choosing to lie or having to, the card needed last.

    A rule that always adds further cards picks from the lowest rank, so that none is in the way.
    """
    if h[_EXTRA] >= 1 and _first(mask, act.PICK, act.LAY) < act.LAY:
        return _first(mask, act.PICK, act.LAY)
    picked = 0
    for slot in range(SLOTS):
        picked += int(o[obs.AT_PICKED + slot])
    honest = int(o[obs.AT_PICKED]) + int(o[obs.AT_PICKED + JOKER]) == picked
    if honest and (picked > 0 or u[0] >= h[_LIE]):
        if mask[act.PICK] == 1:
            return act.PICK
        if mask[act.PICK_JOKER] == 1 and mask[act.LAY] == 0:
            return act.PICK_JOKER
    chance = 1.0 if picked == 0 else h[_MIX] if honest else h[_EXTRA]
    if mask[act.LAY] == 0 or u[1] < chance:
        wrong = _needed_last(o, mask, h, u)
        if wrong > 0:
            return act.PICK + wrong
    return act.LAY if mask[act.LAY] == 1 else _first(mask, act.PICK, act.LAY)


@compiled
def _needed_last(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
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
def _turns_until_asked(o: Ints, r: int) -> int:
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
