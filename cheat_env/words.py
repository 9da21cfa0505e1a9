"""An observation in words: every field that says something, a line each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cheat_env.cards import JOKER_NAME, NUM_RANKS, RANKS, Deck
from cheat_env.observations import view
from cheat_env.state import OUTCOMES, PENDING, PHASES, TALLIES


def text(observation: NDArray[np.int8], deck: Deck) -> str:
    """Return one observation (size,) in words; `deck` names the ranks."""
    fields = view(observation)
    players = int(fields["players"][0])
    named = [RANKS[place] for place in np.flatnonzero(fields["rank"])]
    base = deck.index(named[0]) if fields["in_force"][0] else 0
    turned = deck[base:] + deck[:base]

    def cards(counts: NDArray[np.int8]) -> str:
        slots = [*turned, *[""] * (NUM_RANKS - len(turned)), JOKER_NAME]
        names = (name for name, n in zip(slots, counts, strict=False) for _ in range(n))
        return " ".join(names) or "none"

    def seats(numbers: NDArray[np.int8]) -> str:
        return " ".join(map(str, numbers[:players]))

    phase = [name for name, on in zip(PHASES, fields["phase"], strict=False) if on]
    lines = [
        f"asked to: {' '.join(phase) or 'nothing'}",
        f"rank: {' '.join(named) or 'none'}{'' if fields['in_force'][0] else ' (not in force)'}",
        f"own hand: {cards(fields['own_hand'])}",
        f"picked: {cards(fields['picked'])}",
        f"pile: {fields['pile_size'][0]}, last group: {fields['group_size'][0]}"
        + "".join(f" by +{seat}" for seat in np.flatnonzero(fields["claimant"])),
        f"hands: {seats(fields['hand_sizes'])}",
        f"out: {seats(fields['out'])}",
        f"quads: {cards(fields['quads'])}",
        f"gone: {cards(fields['gone'])}, burnt: {fields['burnt_size'][0]}",
        f"out of the round: {seats(fields['passed'])}",
        f"safe turns: {fields['safe_turns'][0]}",
        f"scores: {seats(fields['scores'])}",
    ]
    if "own_pile" in fields:
        lines += _memory_lines(fields, players, turned, cards)
    return "\n".join(lines)


def _memory_lines(
    fields: dict[str, NDArray[np.int8]],
    players: int,
    turned: Deck,
    cards: Callable[[NDArray[np.int8]], str],
) -> list[str]:
    lines = [f"own cards in the pile: {cards(fields['own_pile'])}"]
    lines.append(f"own cards in burnt piles: {cards(fields['own_burnt'])}")
    lines.append(f"pile claimed as: {cards(fields['claimed'])}")
    for seat in range(1, players):
        lines.append(f"+{seat} surely holds: {cards(fields['known'][seat - 1])}")
    for seat in range(players):
        sums = fields["tallies"][seat].sum(axis=0, dtype=int)
        counts = ", ".join(f"{name} {n}" for name, n in zip(TALLIES, sums, strict=True))
        lines.append(f"+{seat}: {counts}")
    for seat, rank, count, *outcome in fields["recent"]:
        if seat:
            became = OUTCOMES[PENDING + int(np.argmax(outcome))]
            lines.append(f"claim of +{seat - 1}: {count} x {turned[rank]}, {became}")
    return lines
