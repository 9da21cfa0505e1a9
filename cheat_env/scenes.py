"""What is to be seen of a table, by everybody or by one seat, as plain values to draw from.

Whatever draws a table draws a `Scene`, so which cards may be seen is decided here and in the text
picture (`cheat_env.render`) alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from cheat_env import dealing
from cheat_env.cards import Deck, format_cards
from cheat_env.options import Options
from cheat_env.records import RecordError, Replay
from cheat_env.render import ansi, claim_line, event
from cheat_env.state import (
    CLAIM_COUNT,
    CLAIM_OUTCOME,
    CLAIM_RANK,
    LIE,
    OVER,
    PENDING,
    PLAY,
    QUADS,
    TRUE,
    State,
    Table,
)


class Place(NamedTuple):
    """A seat at the table: its cards where they may be seen, and what else is known of it."""

    seat: int
    size: int
    cards: str | None
    acts: bool
    notes: str
    score: str


class Row(NamedTuple):
    """Something in the middle of the table: words, cards face up, and a number of covered ones."""

    text: str
    cards: str = ""
    covered: int = 0


class Scene(NamedTuple):
    """A table as it is to be seen.

    Attributes:
        moves: how many moves of the record were played, private ones too; 0 without a record.
        words: what has just happened, a line each.
        headline: the deal and the rank in force.
        places: the seats.
        rows: the middle of the table.
        asked: who is asked, and for what.
        text: the whole as text.
    """

    moves: int
    words: tuple[str, ...]
    headline: str
    places: tuple[Place, ...]
    rows: tuple[Row, ...]
    asked: str
    text: str


def scene(
    table: Table,
    options: Options,
    deck: Deck,
    seat: int | None = None,
    moves: int = 0,
    words: tuple[str, ...] = (),
) -> Scene:
    """Return a table as everybody's hands show it; with a `seat`, only what that seat may see."""
    text = ansi(table, options, deck, seat)
    lines = text.splitlines()
    places = tuple(_place(table, deck, other, seat) for other in range(int(options["players"])))
    return Scene(moves, words, lines[0], places, tuple(_rows(table, deck, seat)), lines[-1], text)


def _place(table: Table, deck: Deck, other: int, seat: int | None) -> Place:
    """Return a seat as another seat, or everybody, sees it."""
    notes = [
        (table["out"][other], f"out ({table['out'][other]})"),
        (table["passed"][other], "out of the round"),
        (table["loser"][other], "loses"),
    ]
    return Place(
        other,
        int(table["hand_size"][other]),
        format_cards(table["hand"][other], deck) if seat in (None, other) else None,
        bool(table["phase"] != OVER and table["turn"] == other),
        ", ".join(note for holds, note in notes if holds),
        f"score {table['score'][other]}" if table["score"].any() else "",
    )


def _rows(table: Table, deck: Deck, seat: int | None) -> Iterator[Row]:
    """Yield what lies in the middle: the claim, the pile, what is picked, what left the game."""
    if table["group_size"]:
        claimant, size = int(table["claimant"]), int(table["group_size"])
        cards = format_cards(table["group"], deck) if seat in (None, claimant) else ""
        text = f"{size} x {deck[table['claim']]} claimed by seat {claimant}"
        yield Row(text, cards, 0 if cards else size)
    yield _pile(table, deck, seat)
    if table["phase"] == PLAY and table["picked_size"] and seat in (None, int(table["turn"])):
        yield Row(f"picked by seat {table['turn']}", format_cards(table["picked"], deck))
    if table["recent"][0][CLAIM_OUTCOME] > PENDING:
        turned_up = table["recent"][0][CLAIM_OUTCOME] in (TRUE, LIE)
        cards = format_cards(table["turned_up"], deck) if turned_up else ""
        yield Row(claim_line(table, deck).partition(" [")[0], cards)
    if table["quads"].any():
        shown = [rank for rank, gone in zip(deck, table["quads"], strict=False) if gone]
        yield Row("quads gone", " ".join(shown))
    if table["gone"].any():
        yield Row("gone", format_cards(table["gone"], deck))
    if table["burnt_size"]:
        yield _burnt(table, deck, seat)
    if table["safe_turns"]:
        yield Row(f"no group can be challenged in the next {table['safe_turns']} turns")


def _pile(table: Table, deck: Deck, seat: int | None) -> Row:
    """Return the pile: its size, and its closed groups, which all hands together show."""
    closed = int(table["pile_size"]) - int(table["group_size"])
    text = f"pile: {table['pile_size']} cards"
    if table["group_size"] and closed:
        text += f", {closed} below the last group"
    if seat is None:
        return Row(text, format_cards(table["pile"].sum(axis=0, dtype=np.int8), deck))
    return Row(text, "", closed)


def _burnt(table: Table, deck: Deck, seat: int | None) -> Row:
    """Return the burnt piles: their size, and of the cards those that the seat laid itself."""
    seen = table["burnt"].sum(axis=0, dtype=np.int8) if seat is None else table["burnt"][seat]
    own = "" if seat is None or not seen.any() else ", own:"
    return Row(f"burnt: {table['burnt_size']} cards{own}", format_cards(seen, deck))


def scenes(replay: Replay, seat: int | None = None) -> Iterator[Scene]:
    """Play a record and yield what is to be seen of it, from its start and after every move.

    Args:
        replay: a record that was not played yet; what it expects is left aside.
        seat: the one who looks; None: everybody's hands are open. What a seat is asked in private
            (C10, K1) makes no scene for the others.

    Raises `RecordError` for a seat that there is not, and for a move that is malformed or illegal.
    """
    players = replay.num_players
    if seat is not None and not 0 <= seat < players:
        raise RecordError(f"seat {seat}: must be from 0 to {players - 1}")
    words: list[str] = []
    yield _now(replay, seat, 0, words)
    for moves, move in enumerate(replay.moves, 1):
        if isinstance(move, Mapping):
            continue
        if replay.table["phase"] == OVER and not dealing.match_over(replay.table, replay.options):
            dealing.next_deal(replay.table, replay.options)
            yield _now(replay, seat, moves - 1, ["the cards are dealt anew"])
        words += _played(replay, moves, str(move), seat)
        private = replay.table["phase"] == QUADS and seat not in (None, int(replay.table["turn"]))
        if words and not private:
            yield _now(replay, seat, moves, words)
            words = []


def _now(replay: Replay, seat: int | None, moves: int, words: list[str]) -> Scene:
    return scene(replay.table, replay.options, replay.deck, seat, moves, tuple(words))


def _played(replay: Replay, number: int, text: str, seat: int | None) -> Iterator[str]:
    """Play a move and yield what a seat hears of it."""
    before = replay.state.copy()
    try:
        refused = replay.move(text)
    except RecordError as error:
        raise RecordError(f"move {number}: {error}") from None
    if refused is not None:
        raise RecordError(f"move {number} ({text}): expected a legal move, found {refused}")
    heard = _heard(replay.state, text, replay.deck, seat)
    happened = event(before, replay.state, replay.deck)
    yield from (line for line in (heard and f"seat {heard}", happened) if line)


def _heard(after: State, text: str, deck: Deck, seat: int | None) -> str:
    """Return a move in the words of its record; of other seats' only what is said aloud."""
    mover, verb = text.split()[:2]
    if seat in (None, int(mover)):
        return text
    if verb == "plays":
        claim = after[0]["recent"][0]
        return f"{mover} lays {claim[CLAIM_COUNT]} as {deck[claim[CLAIM_RANK]]}"
    return "" if verb == "keeps" else text  # that a seat holds a quad is not public (K1)
