"""The rules of a game in words, made from its options, and what differs between two games."""

from __future__ import annotations

from typing import Any

from cheat_env.options import FREE_RANK
from cheat_env.rules import ALL, EQUAL, OPTION_FIELDS, Rules, spelled, variants
from cheat_env.values import VALUES

#: What each value of an option means for play, in a sentence; nothing where nothing is special.
SENTENCES = {
    "joker_spent": {
        "pile": "",
        "removed": "The jokers of a true group that was challenged leave the game.",
    },
    "rank": {
        "up": "Each claim names the next rank up, lie or not.",
        "down": "Each claim names the next rank down, lie or not.",
        "fixed": "Every claim names the leader's rank until the pile is gone.",
        "adjacent": "Each claim names the rank above or below the last claim.",
        "same_or_adjacent": "Each claim names the last claim's rank or one of its neighbours.",
        "free": "Each claim names any rank.",
    },
    "passing": {
        "none": "",
        "allowed": "Where a pile lies a seat may pass; it may play again when its turn returns.",
        "out_of_round": "Where a pile lies a seat may pass; it then has no turn until the pile is"
        " gone.",
    },
    "all_pass": {
        "nothing": "",
        "burn_pile": "When all others have passed since the last claim the pile leaves the game"
        " unseen, and its claimant leads with a free rank.",
    },
    "challengers": {
        "anyone": "After a play its opponents are asked one by one, clockwise from its left, to"
        " accept or to challenge; the first challenge counts.",
        "next": "Only the next seat may challenge, on its turn; laying cards trusts the last group"
        " for good. Where trusting an emptied hand would end the deal, it can only accept or"
        " challenge.",
    },
    "believe": {
        "none": "",
        "reveal": "Instead it may believe the last group, which is turned up: if it is true the"
        " pile leaves the game and the believer leads; if it is a lie the believer takes the pile"
        " and the seat after it leads; the rank is free.",
    },
    "rank_after_challenge": {
        "continue": "The rank then goes on as if there had been no challenge.",
        "free": "The leader then names any rank.",
        "same": "The leader then claims the challenged rank again.",
        "restart": "The leader then claims the opening rank.",
    },
    "quads": {
        "none": "",
        "optional": "The seat that took the pile may then discard complete sets of a rank.",
        "mandatory": "The seat that took the pile then discards every complete set of a rank.",
        "mandatory_also_on_deal": "Every hand once it is dealt, and the seat that took the pile,"
        " discards every complete set of a rank.",
        "mandatory_redeal": "A deal in which a hand holds a complete set of a rank is dealt again;"
        " the seat that took the pile discards every complete set.",
    },
    "dead_ranks": {
        "allowed": "",
        "banned": "A rank whose complete set has left the game can't be announced.",
    },
    "last_play": {
        "contestable": "",
        "immune": "A group that empties a hand can't be challenged.",
        "honest_only": "A group that empties a hand is turned up at once; if it is a lie its author"
        " takes the pile and the seat after it leads.",
    },
    "end": {
        "first_out": "The first seat to be rid of all cards, once the last play stands, ends the"
        " deal.",
        "last_in": "Seats that are rid of all cards, once the last play stands, are out; the deal"
        " ends when one is left.",
        "two_left": "Seats that are rid of all cards, once the last play stands, are out; the deal"
        " ends when two are left.",
    },
    "scoring": {
        "winner": "It wins 1, the others share -1.",
        "most_cards": "The fullest hands lose: a point and -1 each; the others share as much.",
        "last": "The seats left lose: a point each and together -1; the others share as much.",
        "cards_left": "Each seat scores the cards it holds, least is best, and pays the first out"
        " for them, as a share of all cards dealt.",
    },
}
LEADER = {
    "claimant_left": "the seat after the claimant",
    "challenger": "the challenger",
    "challenger_left": "the seat after the challenger",
    "picker": "the seat that took the pile",
    "claimant": "the claimant",
}


def explain(rules: Rules) -> str:
    """Return a game in words: what it is, how it is played, its options and its sources."""
    parts = [f"{rules.name}: {rules.title}", rules.summary, "\n".join(_sentences(rules))]
    games = [Rules.load(name) for name in variants()]
    parts.append("Options:\n" + "\n".join(_option_lines(rules, games)))
    parts.append("Sources:\n" + "\n".join(f"  {source}" for source in rules.sources))
    return "\n\n".join(part for part in parts if part)


def compare(first: Rules, second: Rules) -> str:
    """Return the options in which two games differ, a line for each, and what they mean."""
    one, two = first.as_options(), second.as_options()
    lines = []
    for option in OPTION_FIELDS:
        name = spelled(option.name)
        if one[name] == two[name]:
            continue
        lines.append(f"{name}: {_short(one[name])} -> {_short(two[name])}")
        for rules in (first, second):
            words = SENTENCES.get(option.name, {}).get(str(getattr(rules, option.name)), "")
            if words:
                lines.append(f"    {rules.name}: {words}")
    same = f"{first.name} and {second.name} are played by the same rules"
    return "\n".join(lines) if lines else same


def _option_lines(rules: Rules, games: list[Rules]) -> list[str]:
    """Return for every option its value, its meaning, what it may be, and who shares it."""
    lines = []
    options = rules.as_options()
    for option in OPTION_FIELDS:
        name = spelled(option.name)
        values = VALUES.get(option.name)
        allowed = f" [{' | '.join(values)}]" if values else ""
        shared = [game.name for game in games if game.as_options()[name] == options[name]]
        lines.append(f"  {name}: {_short(options[name])}")
        lines.append(f"      {option.metadata['meaning']}{allowed}")
        lines.append(f"      {', '.join(shared) or 'no published game'}")
    return lines


def _sentences(rules: Rules) -> list[str]:
    fewest, most = rules.cards_per_play
    opens = "a rank of its choice" if rules.opening == FREE_RANK else f"rank {rules.opening}"
    leader = "The dealer" if rules.starter == "dealer" else "The dealer's left"
    lie, truth = LEADER[rules.lie_leader], LEADER[rules.truth_leader]
    same_leader = f"Then {lie} plays."
    leaders = (
        same_leader if lie == truth else f"After a lie {lie} leads, after a true play {truth}."
    )
    safe = f"In the first {rules.safe_turns} round(s) of turns no group can be challenged."

    def said(name: str) -> str:
        return SENTENCES[name][getattr(rules, name)]

    sentences = [
        _cards_sentence(rules),
        f"{leader} leads with {opens}. A play is {_range(fewest, most)} face down with their exact"
        " count.",
        said("rank"),
        said("passing"),
        said("all_pass"),
        said("challengers"),
        safe if rules.safe_turns else "",
        "Only the last group is turned up. If any card of it is of another rank the claimant takes"
        " the pile, else the challenger.",
        "A joker counts as the claimed rank." if rules.jokers else "",
        said("joker_spent"),
        said("believe"),
        said("quads"),
        said("dead_ranks"),
        leaders,
        said("rank_after_challenge"),
        said("last_play"),
        said("end"),
        said("scoring"),
        _match_sentence(rules),
        f"A deal is truncated after {rules.max_plays} plays"
        + (" and passes." if rules.passing != "none" else "."),
    ]
    return [sentence for sentence in sentences if sentence]


def _cards_sentence(rules: Rules) -> str:
    options = rules.as_options()
    low, high = rules.players
    parts = [f"{low} to {high} players", f"ranks {_short(options['deck'])}"]
    if options["decks"] != 1:
        parts.append(f"decks: {_short(options['decks'])}")
    if rules.jokers:
        parts.append(f"{rules.jokers} joker(s) in each deck")
    dealt = {ALL: "", EQUAL: " All get the same number of cards; the rest lies aside unseen."}
    each = f" Each gets {rules.deal} cards; the rest lies aside unseen."
    aside = f" {rules.removed_cards} card(s) are laid aside unseen." if rules.removed_cards else ""
    return f"{'; '.join(parts)}.{aside}{dealt.get(rules.deal, each)}"


def _match_sentence(rules: Rules) -> str:
    if rules.until is not None:
        return f"Deals are played until a seat has lost {rules.until.losses}."
    return "" if rules.deals == 1 else f"A match is {rules.deals} deals."


def _range(fewest: int, most: int) -> str:
    if fewest == most:
        return "one card" if most == 1 else f"{most} cards"
    return f"{fewest} to {most} cards"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{item} for {key}" for key, item in value.items())
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)
