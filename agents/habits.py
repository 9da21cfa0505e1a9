"""Players by rule of thumb: one compiled rule whose habits are numbers.

Every heuristic is a setting of the same few habits, so a whole mixture of opponents acts in one
call, each row with habits of its own. A rule decides each pick as it comes and keeps no plan. It
reads the options of the game in the observation, so the same words hold for every game:

- It announces the rank of which it holds most, and lays every true card. Jokers are true too: it
  keeps them until it would have to lie without one, and then lays one.
- Where nothing true can be laid, it believes the last claim if it may: always, or if it counts
  cards (odds < 1) where a lie is no likelier than 1 - odds. Else it passes if it may, unless no
  rank that it holds can come up for it by that. Else it lies, with a single card.
- A rule that sheds cards by lying neither believes nor passes.
- The chance `lie` is that of lying where it could lay true cards, believe or pass.
- It never challenges where a lie found out would put everything back as it was (the same seat leads
  with the same cards at the same rank), unless the claimant would go out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.counting import (
    VOLUNTARY_LIE,
    Floats,
    Ints,
    chance_of_lie,
    last_claim,
    possible,
    turns_until_asked,
)
from agents.reckoning import challenge_pays, shed
from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env import values
from cheat_env.cards import JOKER, NUM_RANKS, SLOTS
from cheat_env.compiled import compiled
from cheat_env.options import SHOWN


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
    weighs: float = 0.0
    """Whether it challenges where that pays for the pile (see `agents.reckoning`)."""
    sheds: float = 0.0
    """Whether it lays as many cards, wrong ones too, as it expects to get away with."""
    remembers: float = 1.0
    """Whether it does both by all that it may remember, or only by what lies before it."""
    reads: float = 0.0
    """Whether it reckons with how often each opponent's claims of a size were lies so far."""
    plans: float = 0.0
    """Whether it saves the cards that it will be asked for when it lays its last."""
    needs: float = 0.0
    """Whether it challenges when it lacks the rank that it is to claim at its next turn."""


#: Random numbers that one decision may use.
DRAWS = 4
_LIE, _CALL, _CERTAIN, _GUARD, _ODDS, _EXTRA, _MIX, _NOISE = range(8)
_WEIGHS, _SHEDS, _REMEMBERS, _READS, _PLANS, _NEEDS = range(8, len(Habits()))
#: In how many steps the draw is taken that mixes cards up, where chances are asked for.
NOISE_STEPS = 16
#: Places in an observation: the fewest cards of a play, and the values of some options.
AT_FEWEST = obs.MEMORY.start["fewest"]
AT_ALL_PASS, AT_LIE_LEADER, AT_AFTER_CHALLENGE = (
    obs.MEMORY.start["rules"] + SHOWN.index(name)
    for name in ("all_pass", "lie_leader", "rank_after_challenge")
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
    """Write an action for every row that `acts`: habits (n, 14), draws (n, 4) in 0 .. 1."""
    for i in range(len(acts)):
        if acts[i]:
            actions[i] = decide(observation[i], mask[i], habits[i], draws[i])


def draws_between(habits: Floats) -> tuple[Floats, Floats]:
    """Return draws (k, 4), one for every outcome that they can have, and the chance of each (k,).

    A rule compares its draws with its habits, and the first also names one of the ranks. The last
    only mixes the cards up that it lies with; it is taken in equal steps.
    """
    among = np.concatenate(([0.0, 1.0], habits[[_LIE, _CALL, _EXTRA, _MIX, _NOISE]]))
    steps = np.linspace(0, 1, 1 + (NOISE_STEPS if habits[_NOISE] > 0 else 1))
    ranks = np.linspace(0, 1, 1 + NUM_RANKS)
    cuts = [np.unique(c) for c in (np.concatenate((among, ranks)), among, among, steps)]
    middles = np.meshgrid(*((c[1:] + c[:-1]) / 2 for c in cuts), indexing="ij")
    widths = np.meshgrid(*map(np.diff, cuts), indexing="ij")
    return np.stack(middles, axis=-1).reshape(-1, DRAWS), np.prod(widths, axis=0).ravel()


@compiled
def decide(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
    """Return the action of one row: habits (14,), draws (4,)."""
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
    claimant, rank, count = last_claim(o)
    emptied = o[obs.AT_HAND_SIZES + claimant] == 0
    if u[0] < h[_CALL] or (h[_GUARD] > 0 and emptied):
        return True
    if h[_NEEDS] > 0 and _lacks_next_rank(o, claimant):
        return True
    if h[_WEIGHS] > 0:
        return challenge_pays(o, h[_READS] > 0, h[_REMEMBERS] > 0)
    if h[_CERTAIN] > 0 and not possible(o, count, rank, claimant):
        return True
    return (
        h[_ODDS] < 1
        and chance_of_lie(o, count, rank, claimant, VOLUNTARY_LIE, 1.0, True) > h[_ODDS]
    )


@compiled
def _lacks_next_rank(o: Ints, claimant: int) -> bool:
    """Say whether it holds no card of the rank that it must claim next, where that is settled."""
    ranks = int(o[obs.AT_NUM_RANKS])
    turns = int(o[obs.AT_PLAYERS]) - claimant if o[obs.AT_NEXT_CHALLENGES] == 0 else 0
    if o[obs.AT_PROGRESSION + values.UP] == 1:
        rank = turns % ranks
    elif o[obs.AT_PROGRESSION + values.DOWN] == 1:
        rank = (ranks - turns % ranks) % ranks
    elif o[obs.AT_PROGRESSION + values.FIXED] == 1:
        rank = 0
    else:
        return False
    return o[obs.AT_OWN_HAND + rank] == 0 and o[obs.AT_OWN_HAND + JOKER] == 0


@compiled
def _in_vain(o: Ints) -> bool:
    """Say whether a lie found out would only give its author the same turn again.

    A claimant that would go out is stopped all the same.
    """
    leader = o[AT_LIE_LEADER]
    again = o[AT_AFTER_CHALLENGE] == values.SAME and leader in (values.PICKER, values.CLAIMANT)
    emptied = o[obs.AT_HAND_SIZES + int(o[obs.AT_RECENT]) - 1] == 0
    return bool(again and not emptied and o[obs.AT_PILE_SIZE] == o[obs.AT_GROUP_SIZE])


# --- Believing and passing ------------------------------------------------------------------------


@compiled
def _instead_of_lying(o: Ints, mask: Ints, h: Floats, u: Floats) -> int:
    """Return BELIEVE or PASS where the rule would lie without it, else -1."""
    if h[_SHEDS] > 0 or u[1] < h[_LIE] or _has_true_play(o, mask):
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
    claimant, rank, count = last_claim(o)
    return (
        h[_ODDS] >= 1
        or chance_of_lie(o, count, rank, claimant, VOLUNTARY_LIE, 1.0, True) <= 1 - h[_ODDS]
    )


@compiled
def _waiting_helps(o: Ints) -> bool:
    """Say whether passing can bring it to a rank that it holds: else all might pass for ever."""
    if o[AT_ALL_PASS] == values.BURN_PILE:
        return True
    ranks = int(o[obs.AT_NUM_RANKS])
    runs = o[obs.AT_PROGRESSION + values.UP] == 1 or o[obs.AT_PROGRESSION + values.DOWN] == 1
    for r in range(1, ranks):
        if runs and o[obs.AT_OWN_HAND + r] > 0 and turns_until_asked(o, r) < ranks:
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
    if h[_SHEDS] > 0:
        return shed(o, mask, h[_PLANS] > 0, h[_REMEMBERS] > 0)
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
            need = float(turns_until_asked(o, r))
            if u[2] < h[_NOISE]:
                need = (u[3] * 1009.0 * (r + 1)) % 1.0  # any of them, by the same draw
            if need > value:
                best, value = r, need
    return best
