"""The values that options of the rules may take, by the numbers that compiled code knows them by.

A value's number is its place in the tuple of names.
"""

from __future__ import annotations

UP, DOWN, FIXED, ADJACENT, SAME_OR_ADJACENT, FREE = range(6)
PROGRESSIONS = ("up", "down", "fixed", "adjacent", "same_or_adjacent", "free")
NO_PASS, ALLOWED, OUT_OF_ROUND = range(3)
PASSES = ("none", "allowed", "out_of_round")
NOTHING, BURN_PILE = range(2)
ALL_PASS = ("nothing", "burn_pile")
ANYONE, NEXT = range(2)
CHALLENGERS = ("anyone", "next")
CLAIMANT_LEFT, CHALLENGER, CHALLENGER_LEFT, PICKER, CLAIMANT = range(5)
LEADERS = ("claimant_left", "challenger", "challenger_left", "picker", "claimant")
CONTINUE, AFTER_FREE, SAME, RESTART = range(4)
AFTER_CHALLENGE = ("continue", "free", "same", "restart")
NO_BELIEF, REVEAL = range(2)
BELIEFS = ("none", "reveal")
NO_QUADS, OPTIONAL, MANDATORY, ALSO_ON_DEAL, REDEAL = range(5)
QUAD_RULES = ("none", "optional", "mandatory", "mandatory_also_on_deal", "mandatory_redeal")
DEAD_ALLOWED, DEAD_BANNED = range(2)
DEAD_RANKS = ("allowed", "banned")
WITH_PILE, REMOVED = range(2)
JOKERS_SPENT = ("pile", "removed")
DEALER_LEFT, DEALER = range(2)
STARTERS = ("dealer_left", "dealer")
CONTESTABLE, IMMUNE, HONEST_ONLY = range(3)
LAST_PLAYS = ("contestable", "immune", "honest_only")
FIRST_OUT, LAST_IN, TWO_LEFT = range(3)
ENDS = ("first_out", "last_in", "two_left")
WINNER, MOST_CARDS, LAST, CARDS_LEFT = range(4)
SCORINGS = ("winner", "most_cards", "last", "cards_left")

#: The names of the values of every option that has any, in the order of `Rules`.
VALUES = {
    "joker_spent": JOKERS_SPENT,
    "starter": STARTERS,
    "rank": PROGRESSIONS,
    "passing": PASSES,
    "all_pass": ALL_PASS,
    "challengers": CHALLENGERS,
    "believe": BELIEFS,
    "lie_leader": LEADERS,
    "truth_leader": LEADERS,
    "rank_after_challenge": AFTER_CHALLENGE,
    "quads": QUAD_RULES,
    "dead_ranks": DEAD_RANKS,
    "last_play": LAST_PLAYS,
    "end": ENDS,
    "scoring": SCORINGS,
}
#: Other spellings of a value, found in the sources.
ALIASES = {"challengers": {"any": "anyone"}}
