"""The rules of a game in words, made from its options."""

from __future__ import annotations

from typing import Any

from cheat_env.rules import FREE_RANK, OPTION_FIELDS, Rules

PROGRESSION = {
    "up": "Each claim names the next rank up, lie or not.",
    "down": "Each claim names the next rank down, lie or not.",
    "fixed": "Every claim names the leader's rank until the pile is taken.",
    "adjacent": "Each claim names the rank above or below the last claim.",
    "same_or_adjacent": "Each claim names the last claim's rank or one of its neighbours.",
    "free": "Each claim names any rank.",
}
CHALLENGE = {
    "anyone": "After a play its opponents are asked one by one, clockwise from its left, to accept"
    " or to challenge; the first challenge counts.",
    "next": "Only the next seat may challenge, on its turn; laying cards trusts the last group for"
    " good. Where trusting an emptied hand would end the deal, it can only accept or challenge.",
}
LEADER = {
    "claimant_left": "the seat after the claimant",
    "challenger": "the challenger",
    "challenger_left": "the seat after the challenger",
    "picker": "the seat that took the pile",
    "claimant": "the claimant",
}
RANK_AFTER = {
    "continue": "The rank then goes on as if there had been no challenge.",
    "free": "The leader then names any rank.",
    "same": "The leader then claims the challenged rank again.",
}
QUADS = {
    "none": "",
    "optional": "The seat that took the pile may then discard complete sets of a rank.",
    "mandatory": "The seat that took the pile then discards every complete set of a rank.",
}
END = {
    "first_out": "The first seat to be rid of all cards, once the last play stands, ends the deal.",
    "last_in": "Seats that are rid of all cards, once the last play stands, are out; the deal ends"
    " when one is left.",
}
SCORING = {
    "winner": "It wins 1, the others share -1.",
    "most_cards": "The fullest hands lose: a point and -1 each; the others share as much.",
    "last": "That seat loses: a point and -1; the others share as much.",
}


def explain(rules: Rules) -> str:
    """Return a game in words: what it is, how it is played, its options and its sources."""
    parts = [f"{rules.name}: {rules.title}", rules.summary, "\n".join(_sentences(rules))]
    rows = []
    options = rules.as_options()
    for option in OPTION_FIELDS:
        values = option.metadata["values"]
        allowed = f" [{' | '.join(values)}]" if values else ""
        rows.append(f"  {option.name}: {_short(options[option.name])}")
        rows.append(f"      {option.metadata['meaning']}{allowed}")
        rows.append(f"      {option.metadata['used_by']}")
    parts.append("Options:\n" + "\n".join(rows))
    parts.append("Sources:\n" + "\n".join(f"  {source}" for source in rules.sources))
    return "\n\n".join(part for part in parts if part)


def _sentences(rules: Rules) -> list[str]:
    fewest, most = rules.cards_per_play
    opens = "a rank of its choice" if rules.opening == FREE_RANK else f"rank {rules.opening}"
    aside = f" {rules.removed_cards} card(s) are laid aside unseen." if rules.removed_cards else ""
    lie, truth = LEADER[rules.lie_leader], LEADER[rules.truth_leader]
    same_leader = f"Then {lie} plays."
    leaders = (
        same_leader if lie == truth else f"After a lie {lie} leads, after a true play {truth}."
    )
    deals = "" if rules.deals == 1 else f"A match is {rules.deals} deals."
    sentences = [
        f"{rules.players[0]} to {rules.players[1]} players; ranks {_short(_deck(rules))}.{aside}",
        f"The dealer's left leads with {opens}. A play is {fewest} to {most} cards face down with"
        " their exact count.",
        PROGRESSION[rules.rank],
        CHALLENGE[rules.challengers],
        "Only the last group is turned up. If any card of it is of another rank the claimant takes"
        " the pile, else the challenger.",
        QUADS[rules.quads],
        leaders,
        RANK_AFTER[rules.rank_after_challenge],
        END[rules.end],
        SCORING[rules.scoring],
        deals,
        f"A deal is truncated after {rules.max_plays} plays.",
    ]
    return [sentence for sentence in sentences if sentence]


def _deck(rules: Rules) -> Any:
    return rules.as_options()["deck"]


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{item} for {key}" for key, item in value.items())
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)
