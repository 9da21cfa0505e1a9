"""An observation with its ranks by the deck, and the plays that can follow it.

It reads an observation, its mask and the deck, and nothing else: what may be picked after a pick,
the engine says at a table that holds the seat's own cards alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env.cards import JOKER, JOKER_NAME, RANKS, SLOTS, Deck, format_cards
from cheat_env.engine import apply, legal_actions
from cheat_env.options import OPTIONS_DTYPE, Options
from cheat_env.rules import Rules, variants
from cheat_env.state import NO_RANK, PHASES, Table, allocate, records

Array = NDArray[np.int8]
Counts = NDArray[np.integer[Any]]


class Seen:
    """An observation with its ranks by their place in the deck.

    Args:
        observation: int8 (D,), of either layout.
        deck: the names of the ranks.

    Raises ValueError where the deck is not of this observation.
    """

    def __init__(self, observation: Array, deck: Deck) -> None:
        self.fields = obs.view(observation)
        self.deck = deck
        named = [RANKS[place] for place in np.flatnonzero(self.fields["rank"])]
        if len(deck) != self.fields["num_ranks"][0] or any(name not in deck for name in named):
            raise ValueError(f"deck {' '.join(deck)}: is not that of the observation")
        self.rank = deck.index(named[0]) if named else NO_RANK
        self.in_force = bool(self.fields["in_force"][0])
        self.base = self.rank if self.in_force else 0
        self.hand = self.by_deck(self.fields["own_hand"])
        self.picked = self.by_deck(self.fields["picked"])
        phases = np.flatnonzero(self.fields["phase"])
        self.phase = PHASES[phases[0]] if len(phases) else PHASES[-1]

    def number(self, name: str) -> int:
        """Return a field of one number."""
        return int(self.fields[name][0])

    def by_deck(self, counts: Array) -> Array:
        """Return counts by relative rank, (13,) or (14,), as counts by the deck, (14,)."""
        found = np.zeros(SLOTS, np.int8)
        found[: len(self.deck)] = np.roll(counts[: len(self.deck)], self.base)
        found[JOKER : len(counts)] = counts[JOKER:]
        return found

    def cards(self, name: str) -> str:
        """Return a field of counts as cards."""
        return format_cards(self.by_deck(self.fields[name]), self.deck)

    def relative(self, rank: int) -> int:
        """Return a rank of the deck as actions count it."""
        return (rank - self.base) % len(self.deck)

    def sizes(self) -> str:
        """Return how many cards may be laid, in words."""
        fewest, most = self.number("fewest"), self.number("most")
        return f"{most} card{'s'[: most > 1]}" if fewest == most else f"{fewest} to {most} cards"

    def announceable(self, mask: Array) -> list[int]:
        """Return the ranks of the deck that may be announced by a mask (46,)."""
        near = np.flatnonzero(mask[act.ANNOUNCE_RANK : act.DISCARD])
        return [(self.base + int(rank)) % len(self.deck) for rank in near]

    def name(self, slot: int) -> str:
        """Return the name of a slot of cards."""
        return JOKER_NAME if slot == JOKER else self.deck[slot]


@cache
def _published() -> dict[bytes, frozenset[Deck]]:
    """Return the decks of the published games by what observations show of the rules."""
    found: dict[bytes, frozenset[Deck]] = {}
    for name in variants():
        rules = Rules.load(name)
        low, high = rules.players
        for players in range(low, high + 1):
            key = rules.options(players)["shown"].tobytes()
            found[key] = found.get(key, frozenset()) | {rules.deck_for(players)}
    return found


def deck_of(observation: Array) -> Deck:
    """Return the deck of the published game that an observation (D,) is of.

    Where the rules shown are those of no published game: the deck of as many ranks, if the
    published ones agree on it. Raises ValueError where they don't.
    """
    shown = observation[obs.AT_FLAGS : obs.AT_FLAGS + obs.NUM_FLAGS].tobytes()
    ranks = int(observation[obs.AT_NUM_RANKS])
    every = (deck for decks in _published().values() for deck in decks if len(deck) == ranks)
    decks = _published().get(shown) or frozenset(every)
    if len(decks) != 1:
        raise ValueError(f"house rules with {ranks} ranks: name the deck, like A-K or 2-A")
    return next(iter(decks))


def may_play(seen: Seen, mask: Array, cards: Counts, claim: int | None) -> bool:
    """Say whether `walk` finds a play legal."""
    return walk(seen, mask, cards, claim)[1] is None


def walk(seen: Seen, mask: Array, cards: Counts, claim: int | None) -> tuple[list[int], int | None]:
    """Return the actions of a play, and the first that is not legal, if any.

    Announce the claim, pick what is not picked yet by relative rank, jokers last, and lay.

    Args:
        seen: the observation.
        mask: int8 (46,), what may be done now.
        cards: the whole group by the deck, (14,), of the hand and with what is picked already.
        claim: the rank of the deck that is to be announced; None: none is.
    """
    table, options = _scratch(seen)
    legal, base = mask.copy(), seen.base if claim is None else claim
    left = cards - seen.picked
    slots = [(base + r) % len(seen.deck) for r in range(len(seen.deck))]
    actions = [] if claim is None else [act.ANNOUNCE_RANK + seen.relative(claim)]
    actions += [act.PICK + r for r, slot in enumerate(slots) for _ in range(left[slot])]
    actions += [act.PICK_JOKER] * int(left[JOKER]) + [act.LAY]
    for action in actions:
        if not legal[action]:
            return actions, action
        if action != act.LAY:
            apply(table, options, action)
            legal_actions(table, options, legal)
    return actions, None


def _scratch(seen: Seen) -> tuple[Table, Options]:
    """Return a table with the seat's own cards, and the options that picks depend on."""
    options = records(np.zeros(1, OPTIONS_DTYPE))[0]
    for name in ("num_ranks", "copies", "jokers", "fewest", "most"):
        options[name] = seen.number(name)
    options["rank"] = np.argmax(seen.fields["progression"])
    table = allocate(1)[0]
    table["phase"] = PHASES.index(seen.phase)
    table["rank"] = seen.base if seen.in_force else NO_RANK
    table["claim"] = NO_RANK
    table["hand"][0], table["hand_size"][0] = seen.hand, seen.hand.sum()
    table["picked"], table["picked_size"] = seen.picked, seen.picked.sum()
    return table, options
