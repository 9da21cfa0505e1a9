"""The action table: 46 actions, one layout for the whole family.

A play is picked card by card and then laid. The rank of an action counts round the deck's cycle
from the rank in force, so action 0 always is one true card; where no rank is in force it counts
from the deck's first rank.
"""

from __future__ import annotations

from typing import NamedTuple

from cheat_env.cards import JOKER_NAME, NUM_RANKS, Deck


class Group(NamedTuple):
    """A row of the action table: actions `first` .. `first + length - 1`."""

    name: str
    first: int
    length: int
    meaning: str
    legal: str


PICK = 0
PICK_JOKER = NUM_RANKS
LAY = PICK_JOKER + 1
ACCEPT = LAY + 1
CHALLENGE = ACCEPT + 1
ANNOUNCE_RANK = CHALLENGE + 1
DISCARD = ANNOUNCE_RANK + NUM_RANKS
KEEP = DISCARD + NUM_RANKS
PASS = KEEP + 1
BELIEVE = PASS + 1
NUM_ACTIONS = BELIEVE + 1

GROUPS = (
    Group(
        "pick",
        PICK,
        NUM_RANKS,
        "pick a card of relative rank r",
        "held, fewer than the maximum picked, r not below the last rank picked",
    ),
    Group("pick_joker", PICK_JOKER, 1, "pick a joker", "variants with jokers; as the last picks"),
    Group("lay", LAY, 1, "lay the picked cards", "at least the fewest cards of a play picked"),
    Group("accept", ACCEPT, 1, "accept the claim", "asked in a window, or where trusting loses"),
    Group(
        "challenge",
        CHALLENGE,
        1,
        "challenge the claim",
        "asked in a window; where only the next seat may, on its turn before it picks or announces",
    ),
    Group(
        "announce",
        ANNOUNCE_RANK,
        NUM_RANKS,
        "announce rank r",
        "the rank is the seat's choice; before picking",
    ),
    Group("discard", DISCARD, NUM_RANKS, "discard the quad of rank r", "after taking the pile"),
    Group("keep", KEEP, 1, "discard no more quads", "after taking the pile"),
    Group("pass", PASS, 1, "pass", "variants that allow it"),
    Group("believe", BELIEVE, 1, "believe the claim", "variants in which that turns it up"),
)

#: For each action its group and the relative rank in it.
_LOOKUP = tuple((group, rank) for group in GROUPS for rank in range(group.length))


def name(action: int) -> str:
    """Return the name of an action, like "pick_0" or "challenge"."""
    group, rank = _LOOKUP[action]
    return group.name if group.length == 1 else f"{group.name}_{rank}"


def words(action: int, deck: Deck, base: int) -> str:
    """Return an action in words, with the rank's own name; `base` is where relative ranks start."""
    group, rank = _LOOKUP[action]
    if group.length == 1:
        return {"pick_joker": f"pick {JOKER_NAME}"}.get(group.name, group.name)
    if rank >= len(deck):
        return f"{group.name} nothing"
    return f"{group.name} {deck[(base + rank) % len(deck)]}"


def markdown() -> str:
    """Return the action table as Markdown."""
    rows = ["| index | name | action | legal when |", "|---|---|---|---|"]
    for group in GROUPS:
        last = group.first + group.length - 1
        index = f"{group.first}" if group.length == 1 else f"{group.first}-{last}"
        rows.append(f"| {index} | `{group.name}` | {group.meaning} | {group.legal} |")
    return "\n".join(rows)
