"""The rules for one number of players as a record of numbers for compiled code."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cheat_env.cards import NUM_RANKS, RANKS
from cheat_env.values import NEXT, PROGRESSIONS, QUAD_RULES, VALUES

#: `cheat_env.rules.Rules`, a room that stands above this one.
Rules: TypeAlias = Any
MAX_SEATS = 8
#: Counts of cards are int8.
MAX_CARDS = 127
FREE_RANK = "free"

#: The options that an observation shows by the number of their value.
SHOWN = (
    *("passing", "all_pass", "believe", "lie_leader", "truth_leader", "rank_after_challenge"),
    *("dead_ranks", "joker_spent", "last_play", "end", "scoring"),
)


class Flag(NamedTuple):
    """What observations show of the rules: name, numbers, largest, usual size, meaning."""

    name: str
    size: int
    high: int
    scale: int
    meaning: str


#: The same in every observation of a game, so it is put together once.
FLAGS = (
    Flag("players", 1, MAX_SEATS, MAX_SEATS, "number of seats"),
    Flag("num_ranks", 1, NUM_RANKS, NUM_RANKS, "ranks of the deck"),
    Flag("copies", 1, MAX_CARDS, 4, "cards of each rank"),
    Flag("jokers", 1, MAX_CARDS, 4, "jokers in the deck"),
    Flag("aside", 1, MAX_CARDS, 26, "cards that were dealt to nobody"),
    Flag("opening", 1, NUM_RANKS, NUM_RANKS, "1 + place of the opening rank in the deck; 0: free"),
    Flag("fewest", 1, MAX_CARDS, 4, "fewest cards of a play"),
    Flag("most", 1, MAX_CARDS, 4, "most cards of a play"),
    Flag("progression", len(PROGRESSIONS), 1, 1, f"rank option: {', '.join(PROGRESSIONS)}"),
    Flag("next_challenges", 1, 1, 1, "only the next seat may challenge"),
    Flag("quad_rule", 1, len(QUAD_RULES) - 1, 2, f"quads option: {', '.join(QUAD_RULES)}"),
    Flag("rules", len(SHOWN), 4, 2, f"place of the value of each option: {', '.join(SHOWN)}"),
)

#: One record: the options of a game for a number of players, as numbers.
OPTIONS_DTYPE = np.dtype(
    [
        ("players", np.int8),
        ("num_ranks", np.int8),
        ("names", np.int8, (NUM_RANKS,)),
        ("copies", np.int8),
        ("jokers", np.int8),
        ("cards", np.int8),
        ("dealt", np.int8),
        ("fewest", np.int8),
        ("most", np.int8),
        ("opening", np.int8),
        *[(name, np.int8) for name in VALUES],
        ("safe_turns", np.int32),
        ("until", np.int32),
        ("deals", np.int32),
        ("max_plays", np.int32),
        ("shown", np.int8, (sum(flag.size for flag in FLAGS),)),
    ],
    align=True,
)
#: One record of `OPTIONS_DTYPE`; its fields are attributes.
Options: TypeAlias = Any


def as_record(rules: Rules, num_players: int) -> Options:
    """Return the rules for a number of players that the game allows."""
    deck = rules.deck_for(num_players)
    row = np.zeros((), OPTIONS_DTYPE).view(np.recarray)[()]
    row["players"] = num_players
    row["num_ranks"] = len(deck)
    row["names"][: len(deck)] = [RANKS.index(rank) for rank in deck]
    row["copies"] = rules.copies_for(num_players)
    row["jokers"] = rules.jokers * rules.decks_for(num_players)
    row["cards"] = rules.cards_for(num_players)
    row["dealt"] = rules.dealt_for(num_players)
    row["fewest"], row["most"] = rules.cards_per_play
    row["opening"] = -1 if rules.opening == FREE_RANK else deck.index(rules.opening)
    for name, values in VALUES.items():
        row[name] = values.index(getattr(rules, name))
    row["safe_turns"] = rules.safe_turns * num_players
    row["until"] = 0 if rules.until is None else rules.until.losses
    row["deals"] = rules.deals
    row["max_plays"] = rules.max_plays
    row["shown"] = _shown(row)
    return row


def _shown(row: Options) -> NDArray[np.int8]:
    """Return the numbers of `FLAGS`, int8."""
    shown: dict[str, Any] = {
        flag.name: row[flag.name] for flag in FLAGS if flag.name in row.dtype.names
    }
    shown["aside"] = row["cards"] - row["dealt"]
    shown["opening"] = row["opening"] + 1
    shown["progression"] = np.arange(len(PROGRESSIONS)) == row["rank"]
    shown["next_challenges"] = row["challengers"] == NEXT
    shown["quad_rule"] = row["quads"]
    shown["rules"] = [row[name] for name in SHOWN]
    return np.concatenate([np.ravel(shown[flag.name]) for flag in FLAGS]).astype(np.int8)


def expected_quads(rules: Rules, num_players: int) -> float:
    """Return how many complete sets of a rank the hands of a deal hold on average."""
    cards, copies = rules.cards_for(num_players), rules.copies_for(num_players)
    dealt = rules.dealt_for(num_players)
    sets = len(rules.deck_for(num_players)) / math.comb(cards, copies)
    hands = (dealt // num_players + (seat < dealt % num_players) for seat in range(num_players))
    return sets * sum(math.comb(hand, copies) for hand in hands)
