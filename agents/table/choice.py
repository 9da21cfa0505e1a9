"""The turn that a person is putting together: cards picked, a rank named; only what is legal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env.cards import SLOTS
from cheat_env.seen import Seen, may_play, walk

#: The moves of one action.
MOVES = {
    "challenge": act.CHALLENGE,
    "accept": act.ACCEPT,
    "pass": act.PASS,
    "believe": act.BELIEVE,
    "keep": act.KEEP,
}


class Choice:
    """What may be chosen, and what was.

    Args:
        seen: what the person sees.
        mask: int8 (46,), what it may do; empty while others act.

    Attributes:
        picked: int8 (14,), the cards picked, by the deck.
        claim: the rank of the deck named, where it is free; else None.
        claims: the ranks that may be named.
        discards: the ranks whose complete set may be discarded.
    """

    def __init__(self, seen: Seen, mask: NDArray[np.int8]) -> None:
        self.seen, self.mask = seen, mask
        self.picked = np.zeros(SLOTS, np.int8)
        self.claims = seen.announceable(mask)
        self.claim = self.claims[0] if len(self.claims) == 1 else None
        ranks = np.flatnonzero(mask[act.DISCARD : act.KEEP]).tolist()
        self.discards = [(seen.base + rank) % len(seen.deck) for rank in ranks]

    def can_play(self) -> bool:
        """Say whether cards may be laid in this turn."""
        return bool(self.claims or self.mask[: act.LAY].any())

    def can_pick(self, slot: int) -> bool:
        """Say whether one more card of a slot may be picked."""
        more = self.picked.copy()
        more[slot] += 1
        if not self.can_play() or more[slot] > self.seen.hand[slot]:
            return False
        claim = self.claim if self.claim is not None or not self.claims else self.claims[0]
        return walk(self.seen, self.mask, more, claim)[1] in (None, act.LAY)

    def can_lay(self) -> bool:
        """Say whether what is picked may be laid."""
        if not self.picked.any() or (self.claims and self.claim is None):
            return False
        return may_play(self.seen, self.mask, self.picked, self.claim)

    def can(self, move: str) -> bool:
        """Say whether a move of `MOVES` is legal."""
        return bool(self.mask[MOVES[move]])

    def turn_claim(self, by: int) -> None:
        """Name the next rank that may be named, or the one before it."""
        if self.claims:
            at = self.claims.index(self.claim) + by if self.claim is not None else min(by, 0)
            self.claim = self.claims[at % len(self.claims)]

    def play(self) -> list[int]:
        """Return the actions that lay what is picked."""
        return walk(self.seen, self.mask, self.picked, self.claim)[0]

    def discard(self, rank: int) -> list[int]:
        """Return the action that discards the complete set of a rank of the deck."""
        return [act.DISCARD + self.seen.relative(rank)]
