"""Random numbers as a pure function of where they are used.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC11)
turns a counter and a key into four 32-bit words. The key is the seed; the counter names the table,
the match, the deal and the block of draws. So a deal depends on nothing that was played before it.
"""

from __future__ import annotations

import numpy as np

from cheat_env.compiled import compiled

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
ROUNDS = 10

Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@compiled
def philox(key: np.uint64, c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64) -> Words:
    """Return four random 32-bit words for a 64-bit key and a counter of four 32-bit words."""
    k0, k1 = key & LOW, key >> HALF
    for _ in range(ROUNDS):
        p0, p1 = MULTIPLIER_0 * c0, MULTIPLIER_1 * c2  # 32 x 32 bits never overflow 64
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + WEYL_0) & LOW, (k1 + WEYL_1) & LOW
    return c0, c1, c2, c3


@compiled
def below(word: np.uint64, bound: int) -> int:
    """Return a number in 0 .. bound-1 from a 32-bit word (bias below bound / 2**32)."""
    return int((word * np.uint64(bound)) >> HALF)
