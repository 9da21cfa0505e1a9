"""Pictures of a table as text, from everybody's view or from one seat's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cheat_env.cards import Deck, format_cards
from cheat_env.options import Options
from cheat_env.state import (
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    CLAIM_SEAT,
    CLAIM_TAKER,
    CLAIM_TURNER,
    LIE,
    NO_RANK,
    NO_SEAT,
    OUTCOMES,
    OVER,
    PENDING,
    PLAY,
    QUADS,
    TRUE,
    State,
    Table,
)

ASKED_TO = ("announce a rank", "play", "accept or challenge", "discard quads or keep them")


def ansi(table: Table, options: Options, deck: Deck, seat: int | None = None) -> str:
    """Return a table as lines of text; with a `seat`, only what that seat may see."""
    players = int(options["players"])
    lines = [_headline(table, deck)]
    lines += [_hand_line(table, deck, other, seat) for other in range(players)]
    lines.append(_pile_line(table, deck, seat))
    quads = [rank for rank, shown in zip(deck, table["quads"], strict=False) if shown]
    if quads:
        lines.append(f"quads gone: {' '.join(quads)}")
    if table["gone"].any():
        lines.append(f"gone: {format_cards(table['gone'], deck)}")
    if table["burnt_size"]:
        lines.append(_burnt_line(table, deck, seat))
    if table["safe_turns"]:
        lines.append(f"no group can be challenged in the next {table['safe_turns']} turns")
    if table["recent"][0][CLAIM_OUTCOME] > PENDING:
        lines.append(claim_line(table, deck))
    lines.append(_asked_line(table, seat))
    return "\n".join(lines)


def claim_line(table: Table, deck: Deck) -> str:
    """Return the last claim, what became of it, and the cards that a challenge turned up."""
    claim = table["recent"][0]
    outcome = int(claim[CLAIM_OUTCOME])
    text = f"seat {claim[CLAIM_SEAT]} claimed {claim[CLAIM_COUNT]} x {deck[claim[CLAIM_RANK]]}"
    text += f": {OUTCOMES[outcome]}"
    if outcome in (TRUE, LIE):
        cards = format_cards(table["turned_up"], deck)
        text += f", {_turner(claim)} [{cards}]"
    return text


def _turner(claim: Any) -> str:
    """Return who had a claim turned up: a challenger, a believer, or the rule for last plays."""
    seat, turner, taker = claim[CLAIM_SEAT], claim[CLAIM_TURNER], claim[CLAIM_TAKER]
    if turner == seat:
        return "turned up"
    challenged = taker == (seat if claim[CLAIM_OUTCOME] == LIE else turner)
    return f"{'challenged' if challenged else 'believed'} by seat {turner}"


def _headline(table: Table, deck: Deck) -> str:
    rank = "free" if table["rank"] == NO_RANK else deck[table["rank"]]
    return f"deal {table['deal'] + 1}, {table['plays']} plays, rank: {rank}"


def _hand_line(table: Table, deck: Deck, other: int, seat: int | None) -> str:
    acts = table["phase"] != OVER and table["turn"] == other
    place = f"  out ({table['out'][other]})" if table["out"][other] else ""
    place += "  out of the round" if table["passed"][other] else ""
    lost = "  loses" if table["loser"][other] else ""
    score = f"  score {table['score'][other]}" if table["score"].any() else ""
    hand = format_cards(table["hand"][other], deck) if seat in (None, other) else ""
    cards = f"  {hand}" if hand else ""
    count = f"{table['hand_size'][other]:>2} cards"
    return f"{'>' if acts else ' '} seat {other}: {count}{cards}{place}{lost}{score}".rstrip()


def _pile_line(table: Table, deck: Deck, seat: int | None) -> str:
    line = f"pile: {table['pile_size']} cards"
    if table["group_size"]:
        claimant = int(table["claimant"])
        line += f", last {table['group_size']} x {deck[table['claim']]} by seat {claimant}"
        if seat in (None, claimant):
            line += f" [{format_cards(table['group'], deck)}]"
    if seat is None and table["pile"].any():
        line += f" on {format_cards(table['pile'].sum(axis=0, dtype=np.int8), deck)}"
    if table["phase"] == PLAY and table["picked_size"] and seat in (None, table["turn"]):
        line += f"; picked {format_cards(table['picked'], deck)}"
    return line


def _burnt_line(table: Table, deck: Deck, seat: int | None) -> str:
    seen = table["burnt"].sum(axis=0, dtype=np.int8) if seat is None else table["burnt"][seat]
    whose = "" if seat is None else "own "
    cards = f" [{whose}{format_cards(seen, deck)}]" if seen.any() else ""
    return f"burnt: {table['burnt_size']} cards{cards}"


def _asked_line(table: Table, seat: int | None) -> str:
    if table["phase"] == OVER:
        return "the deal is truncated" if table["truncated"] else "the deal is over"
    if table["phase"] == QUADS and seat not in (None, table["turn"]):
        return "the challenge is being settled"  # that the taker holds a quad is its own (K1)
    return f"seat {table['turn']} is asked to {ASKED_TO[table['phase']]}"


def event(before: State, after: State, deck: Deck) -> str | None:
    """Return what a move turned up, moved or burnt, in words; None where it did nothing of it."""
    old, new = before[0], after[0]
    claim = new["recent"][0]
    burnt = int(new["burnt_size"]) - int(old["burnt_size"])
    shown = new["plays"] > old["plays"] or old["recent"][0][CLAIM_OUTCOME] == PENDING
    if not shown or claim[CLAIM_OUTCOME] not in (TRUE, LIE):
        return f"{burnt} cards leave the game unseen" if burnt > 0 else None
    line = claim_line(new, deck)
    if claim[CLAIM_TAKER] != NO_SEAT:
        return f"{line}; seat {claim[CLAIM_TAKER]} takes {_taken(old, new)} cards"
    return f"{line}; the pile leaves the game" if new["phase"] != OVER or burnt else line


def _taken(old: Table, new: Table) -> int:
    """Return how many cards the last claim's pile gave to the seat that took it."""
    laid = int(new["recent"][0][CLAIM_COUNT]) if new["plays"] > old["plays"] else 0
    spent = int(new["gone"].sum()) - int(old["gone"].sum())
    return int(old["pile_size"]) + laid - spent
