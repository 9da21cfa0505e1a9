"""What agents do, counted from the whole truth before each action.

Only an evaluation sees a state; what is counted here never reaches an agent. One record of `COUNTS`
is kept for every seat of every table:

- A claim is free where its seat could have made it true: it held enough cards of the rank in force,
  jokers included, or where the rank was its choice, of any rank that it could announce. Every other
  claim is forced, and a lie, though there may have been a way to pass.
- A seat is asked where it may challenge: once for each claim that is put to it.
- A seat is caught where a lie of its own is turned up and it takes the pile; where the rules turn
  up a lie for who believed it, the believer takes the pile and nobody is caught.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import values
from cheat_env.cards import JOKER
from cheat_env.compiled import compiled
from cheat_env.engine import is_lie
from cheat_env.legality import base_rank
from cheat_env.options import Options
from cheat_env.state import ANNOUNCE, OVER, State, Table, records

#: Hands of 1 .. 13 cards before the play, then larger ones.
HAND_SIZES = 14
#: Claims of 1 .. 3 cards, then larger ones.
CLAIM_SIZES = 4
FREE, LIES = range(2)
MADE = FREE
ASKED, CHALLENGES, RIGHT = range(3)

COUNTS = np.dtype(
    [
        ("claims", np.int32),
        ("caught", np.int32),
        ("lies_by_hand", np.int32, (HAND_SIZES, 2)),
        ("lies_by_size", np.int32, (CLAIM_SIZES, 2)),
        ("challenges_by_size", np.int32, (CLAIM_SIZES, 3)),
    ],
    align=True,
)


class Measures:
    """Counts of every seat of some tables, while single deals are played at them.

    Attributes:
        counts: `COUNTS` (tables, seats); `lies_by_hand` are free claims and the lies of them by
            hand size, `lies_by_size` all claims and the lies of them by their size, and
            `challenges_by_size` the chances to challenge, challenges and right ones.
        decisions: int32 (tables,), actions taken where there was more than one.
    """

    def __init__(self, num_tables: int, num_players: int) -> None:
        self.counts = records(np.zeros((num_tables, num_players), COUNTS))
        self.decisions = np.zeros(num_tables, np.int32)
        self._could_tell_truth = np.zeros(num_tables, np.bool_)

    def count(
        self,
        state: State,
        game: NDArray[np.void],
        mask: NDArray[np.int8],
        actions: NDArray[np.int64],
    ) -> None:
        """Count the legal actions (n,) that are about to be taken; `mask` is (n, 46)."""
        count_actions(
            state, game, mask, actions, self.counts, self.decisions, self._could_tell_truth
        )


@compiled
def count_actions(
    state: State,
    game: NDArray[np.void],
    mask: NDArray[np.int8],
    actions: NDArray[np.int64],
    counts: NDArray[np.void],
    decisions: NDArray[np.int32],
    could_tell_truth: NDArray[np.bool_],
) -> None:
    """Count one action at every table whose deal is not over (see `Measures`)."""
    for t in range(len(actions)):
        table, options, action = state[t], game[0], actions[t]
        if table.phase == OVER:
            continue
        decisions[t] += _has_choice(mask[t])
        if table.phase == ANNOUNCE and act.ANNOUNCE_RANK <= action < act.DISCARD:
            could_tell_truth[t] = _can_announce_truth(table, options, mask[t])
        elif action == act.LAY:
            announced = could_tell_truth[t]
            could_tell_truth[t] = False
            _count_claim(table, options, counts[t], announced)
        if mask[t, act.CHALLENGE] == 1:
            _count_answer(table, counts[t], action == act.CHALLENGE)


@compiled
def _has_choice(mask: NDArray[np.int8]) -> bool:
    """Say whether more than one action is legal."""
    legal = 0
    for action in range(len(mask)):
        legal += mask[action]
        if legal > 1:
            return True
    return False


@compiled
def _holds(table: Table, options: Options, rank: int) -> bool:
    """Say whether the seat to act can make a true claim of a rank, jokers included (G5)."""
    seat = int(table.turn)
    fewest = min(int(options.fewest), int(table.hand_size[seat]))
    return int(table.hand[seat, rank]) + int(table.hand[seat, JOKER]) >= fewest


@compiled
def _can_announce_truth(table: Table, options: Options, mask: NDArray[np.int8]) -> bool:
    """Say whether the seat to act can make a true claim of some rank that it may announce."""
    ranks, base = int(options.num_ranks), base_rank(table)
    for r in range(ranks):
        legal = mask[act.ANNOUNCE_RANK + r] == 1
        if legal and _holds(table, options, (base + r) % ranks):
            return True
    return False


@compiled
def _count_claim(table: Table, options: Options, counts: NDArray[np.void], announced: bool) -> None:
    """Count the claim that the seat to act makes by laying the picked cards."""
    seat, size, rank = int(table.turn), int(table.picked_size), int(table.rank)
    hand = int(table.hand_size[seat])
    lie = is_lie(table.picked, size, rank)
    own = counts[seat]
    own.claims += 1
    bucket = own.lies_by_size[min(size, CLAIM_SIZES) - 1]
    bucket[MADE] += 1
    bucket[LIES] += lie
    if announced or _holds(table, options, rank):
        bucket = own.lies_by_hand[min(hand, HAND_SIZES) - 1]
        bucket[FREE] += 1
        bucket[LIES] += lie
    if lie and hand == size and options.last_play == values.HONEST_ONLY:
        own.caught += 1  # turned up by itself (G11)


@compiled
def _count_answer(table: Table, counts: NDArray[np.void], challenges: bool) -> None:
    """Count what the seat to act makes of its chance to challenge."""
    size, claimant = int(table.group_size), int(table.claimant)
    lie = is_lie(table.group, size, int(table.claim))
    bucket = counts[int(table.turn)].challenges_by_size[min(size, CLAIM_SIZES) - 1]
    bucket[ASKED] += 1
    if challenges:
        bucket[CHALLENGES] += 1
        bucket[RIGHT] += lie
        counts[claimant].caught += lie
