"""A decision in words: what a seat sees and may do, and what its answer means.

Made for players that read and write, such as language models. `prompt` tells an observation in
prose, with whole turns as numbered moves; `parse` makes an answer in words the actions of that
turn. Both read an observation, its mask and the deck, and nothing else. Seats are called `you`,
`+1` (the next clockwise), `+2` ...

The words are those of game records without the seat: `play 7 K`, `play 7 K as 7`, `challenge`,
`accept`, `discard 6`, `keep`, `pass`, `believe`; also `announce 7`, cards alone (`7 K`), and a
single number: always that of a move.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env.cards import (
    JOKER,
    JOKER_NAME,
    RANKS,
    SLOTS,
    CardError,
    Deck,
    format_cards,
    parse_cards,
    parse_rank,
)
from cheat_env.explain import SENTENCES
from cheat_env.options import SHOWN
from cheat_env.records import VERBS
from cheat_env.seen import Array, Counts, Seen, deck_of, may_play, walk
from cheat_env.state import NO_RANK, OUTCOMES, PENDING
from cheat_env.values import ANYONE, CHALLENGERS, NEXT, PROGRESSIONS, VALUES

__all__ = ("AnswerError", "deck_of", "moves", "paragraph", "parse", "prompt", "rules")

#: How much of an answer a refusal repeats.
MOST_REPEATED = 60
#: What a seat may answer in one word.
ANSWERS = {act.name(action): action for action in VERBS.values()}
#: The options whose meaning belongs to a decision, beside who challenges and which rank comes.
TOLD = ("passing", "all_pass", "believe", "last_play", "end", "scoring")
_WITH_CARDS = ("play", "lay", "announce", "discard")
_ASKED = {
    "announce": "choose a rank and lay cards as it",
    "play": "play",
    "window": "accept or challenge the last claim",
    "quads": "discard complete sets of a rank or keep them",
}


class AnswerError(ValueError):
    """An answer that is no legal turn; the message says what was said and what is allowed."""


# --- Told -----------------------------------------------------------------------------------------


def prompt(observation: Array, action_mask: Array, deck: Deck) -> str:
    """Return a decision in words, without an empty line: prose, the moves, how to answer.

    Args:
        observation: int8 (D,), of either layout, of the seat to act.
        action_mask: int8 (46,).
        deck: the names of the ranks.
    """
    seen = Seen(observation, deck)
    lines = [rules(observation), paragraph(observation, deck), "Moves:"]
    turns = moves(observation, action_mask, deck)
    lines += [f"{number}. {move}" for number, move in enumerate(turns, 1)]
    lines.append(f"Allowed: {_allowed(seen, action_mask)}.")
    lines.append("Answer with one line: a move in these words, or its number.")
    return "\n".join(lines)


def rules(observation: Array) -> str:
    """Return what an observation (D,) shows of the rules, in sentences."""
    fields = obs.view(observation)
    fewest, most = int(fields["fewest"][0]), int(fields["most"][0])
    said = [
        f"Cheat, {fields['players'][0]} players: cards are laid face down, {fewest} to {most} at a"
        " time, and claimed as a rank, which may be a lie. A challenge turns up the last group: the"
        " liar, or else the challenger, takes the pile.",
        SENTENCES["rank"][PROGRESSIONS[int(np.argmax(fields["progression"]))]],
        SENTENCES["challengers"][CHALLENGERS[NEXT if fields["next_challenges"][0] else ANYONE]],
    ]
    if fields["jokers"][0]:
        said.append(f"A joker ({JOKER_NAME}) counts as the claimed rank.")
    for name, value in zip(SHOWN, fields["rules"], strict=True):
        if name in TOLD:
            said.append(SENTENCES[name][VALUES[name][value]])
    return " ".join(filter(None, said))


def paragraph(observation: Array, deck: Deck) -> str:
    """Return what a seat sees and remembers as a paragraph of prose.

    Args:
        observation: int8 (D,), of either layout.
        deck: the names of the ranks.
    """
    seen = Seen(observation, deck)
    said = [f"You hold: {seen.cards('own_hand') or 'nothing'}."]
    if seen.picked.any():
        said.append(f"Of these you have picked: {seen.cards('picked')}.")
    others = range(1, seen.number("players"))
    hands = ", ".join(f"{_seat(seat)} {seen.fields['hand_sizes'][seat]}" for seat in others)
    said.append(f"Clockwise from you the others hold so many cards: {hands}.")
    said += [*_on_the_table(seen), *_standing(seen)]
    if "own_pile" in seen.fields:
        said += _remembered(seen)
    rank = f"; the rank is {deck[seen.rank]}" if seen.in_force else ""
    asked = _ASKED.get(seen.phase)
    said.append(f"You are asked to {asked}{rank}." if asked else "The deal is over.")
    return " ".join(said)


def _on_the_table(seen: Seen) -> Iterator[str]:
    """Yield what lies on the table, and the last claim."""
    yield f"Cards in the pile: {seen.number('pile_size')}."
    if size := seen.number("group_size"):
        claimed = _claimed(seen)
        group = f"{size} x {seen.deck[claimed]}" if claimed != NO_RANK else f"of {size}"
        yield f"The last group, {group}, {_seat(int(np.argmax(seen.fields['claimant'])))} laid."


def _claimed(seen: Seen) -> int:
    """Return the rank of the last claim, or NO_RANK where the short observation leaves it open."""
    if "recent" in seen.fields:
        return (seen.base + int(seen.fields["recent"][0, 1])) % len(seen.deck)
    return seen.rank if seen.phase == "window" or not seen.in_force else NO_RANK


def _standing(seen: Seen) -> Iterator[str]:
    """Yield who is out, what left the game, and the points, as far as there are any."""
    fields, players = seen.fields, seen.number("players")
    for name, told in (("out", "Out of cards"), ("passed", "Without a turn until the pile goes")):
        if fields[name].any():
            yield f"{told}: {' '.join(map(_seat, np.flatnonzero(fields[name]).tolist()))}."
    if fields["quads"].any():
        yield f"Complete sets that left the game: {seen.cards('quads')}."
    if fields["gone"].any():
        yield f"Other cards that left the game: {seen.cards('gone')}."
    if seen.number("burnt_size"):
        yield f"{seen.number('burnt_size')} cards left the game unseen."
    if seen.number("safe_turns"):
        yield f"No group can be challenged in the next {seen.number('safe_turns')} turns."
    if fields["scores"].any():
        yield f"Points, from you clockwise: {' '.join(map(str, fields['scores'][:players]))}."


def _remembered(seen: Seen) -> Iterator[str]:
    """Yield what the longer observation adds, in short."""
    fields = seen.fields
    if fields["own_pile"].any():
        yield f"Your own cards in the pile: {seen.cards('own_pile')}."
    if fields["claimed"].any():
        sums = seen.by_deck(fields["claimed"])
        claimed = ", ".join(f"{sums[rank]} x {seen.deck[rank]}" for rank in np.flatnonzero(sums))
        yield f"The pile was claimed as: {claimed}."
    for seat in range(1, seen.number("players")):
        known = format_cards(seen.by_deck(fields["known"][seat - 1]), seen.deck)
        if known:
            yield f"{_seat(seat)} surely holds {known}."
        claims, caught, proven, _, challenges, won = fields["tallies"][seat].sum(axis=0, dtype=int)
        if claims or challenges:
            yield (
                f"{_seat(seat)}: claims {claims} (caught {caught}, proven true {proven}),"
                f" challenges {challenges} (right {won})."
            )
    claims = []
    for seat, rank, count, *outcome in fields["recent"]:
        if seat:
            name = seen.deck[(seen.base + int(rank)) % len(seen.deck)]
            became = OUTCOMES[PENDING + int(np.argmax(outcome))]
            claims.append(f"{_seat(seat - 1)} {count} x {name} ({became})")
    if claims:
        yield f"Last claims, newest first: {', '.join(claims)}."


def _seat(seat: int) -> str:
    return f"+{seat}" if seat else "you"


def moves(observation: Array, action_mask: Array, deck: Deck) -> list[str]:
    """Return the legal turns that are listed by number, in the words that `parse` reads.

    Of plays only those of cards of one rank are listed, true ones first (beside cards that are
    picked already); other mixes are as legal. Where the seat chooses the rank they are claimed as
    what they are, or where it may claim none that it holds, single cards as each rank allowed.

    Args:
        observation: int8 (D,), of either layout, of the seat to act.
        action_mask: int8 (46,).
        deck: the names of the ranks.
    """
    seen = Seen(observation, deck)
    found = list(dict.fromkeys(_plays(seen, action_mask)))
    for action in np.flatnonzero(action_mask).tolist():
        if act.DISCARD <= action < act.KEEP:
            found.append(act.words(action, deck, seen.base))
        elif action in ANSWERS.values():
            found.append(act.name(action))
    return found


def _plays(seen: Seen, mask: Array) -> Iterator[str]:
    """Yield the plays that are listed."""
    free = seen.announceable(mask)
    slots = [*((seen.base + r) % len(seen.deck) for r in range(len(seen.deck))), JOKER]
    honest = False
    for slot in slots:
        rank = seen.name(slot) if free else None
        if free and slot not in free:
            continue
        for more in range(int(seen.hand[slot] - seen.picked[slot]) + 1):
            cards = seen.picked.copy()
            cards[slot] += more
            if cards.any() and may_play(seen, mask, cards, slot if free else None):
                honest = True
                yield _play_words(seen, cards, rank)
    if free and not honest:
        for claim in free:
            for slot in np.flatnonzero(seen.hand).tolist():
                cards = np.zeros(SLOTS, np.int8)
                cards[slot] = 1
                if may_play(seen, mask, cards, claim):
                    yield _play_words(seen, cards, seen.deck[claim])


def _play_words(seen: Seen, cards: Counts, rank: str | None) -> str:
    return f"play {format_cards(cards, seen.deck)}" + (f" as {rank}" if rank else "")


def _allowed(seen: Seen, mask: Array) -> str:
    """Return what may be done, in a few words."""
    said = []
    if free := seen.announceable(mask):
        ranks = " ".join(seen.deck[rank] for rank in free)
        said.append(f"play {seen.sizes()} of yours as RANK, one of {ranks}")
    elif mask[: act.ACCEPT].any():
        rank = f" as {seen.deck[seen.rank]}" if seen.in_force else ""
        said.append(f"play {seen.sizes()} of yours{rank}")
    for action in np.flatnonzero(mask).tolist():
        if act.DISCARD <= action < act.KEEP or action in ANSWERS.values():
            said.append(act.words(action, seen.deck, seen.base))
    return ", ".join(said) or "nothing"


# --- Understood -----------------------------------------------------------------------------------


def parse(answer: str, observation: Array, action_mask: Array, deck: Deck) -> list[int]:
    """Return the actions of the turn that an answer names: one, or picks in order and then laid.

    Args:
        answer: the words, or the number of a move of `moves`.
        observation: int8 (D,), of either layout, of the seat to act.
        action_mask: int8 (46,).
        deck: the names of the ranks.

    Raises `AnswerError`, in one line, where the answer is no turn or not a legal one.
    """
    seen = Seen(observation, deck)
    said = answer.replace(",", " ").strip().strip("`\"'.").split()
    try:
        if len(said) == 1 and said[0].isdecimal():
            listed = moves(observation, action_mask, deck)
            if said[0] not in map(str, range(1, len(listed) + 1)):
                raise AnswerError(f"there is no move of that number, only 1 to {len(listed)}")
            said = listed[int(said[0]) - 1].split()
        return _turn(seen, action_mask, said)
    except (AnswerError, CardError) as error:
        told = " ".join(answer.split())
        told = told if len(told) <= MOST_REPEATED else f"{told[:MOST_REPEATED]}..."
        raise AnswerError(f"{told!r}: {error}; allowed: {_allowed(seen, action_mask)}") from None


def _turn(seen: Seen, mask: Array, said: list[str]) -> list[int]:
    """Return the actions of a turn in words."""
    verb, rest = (said[0].lower(), said[1:]) if said else ("", [])
    short = verb.removesuffix("s") if verb.removesuffix("s") in _WITH_CARDS else verb
    if (action := ANSWERS.get(verb, VERBS.get(verb))) is not None and not rest:
        return [_legal(seen, mask, action)]
    if short in ("announce", "discard"):
        first = act.ANNOUNCE_RANK if short == "announce" else act.DISCARD
        rank = parse_rank(" ".join(_names(rest)), seen.deck)
        return [_legal(seen, mask, first + seen.relative(rank))]
    plays = short in ("play", "lay")
    cards = _names(rest if plays else said)
    if not cards or not (plays or cards[0] in (*RANKS, JOKER_NAME)):
        raise AnswerError("is no move")
    return _play(seen, mask, cards)


def _names(words: list[str]) -> list[str]:
    """Return words with cards as decks spell them."""
    jokers = {"JO": JOKER_NAME, "JOKER": JOKER_NAME, "AS": "as"}
    return [jokers.get(word.upper(), word.upper()) for word in words]


def _legal(seen: Seen, mask: Array, action: int) -> int:
    if not mask[action]:
        raise AnswerError(f"{act.words(action, seen.deck, seen.base)} is not allowed now")
    return action


def _play(seen: Seen, mask: Array, words: list[str]) -> list[int]:
    """Return the actions of a play: "7 K" or "7 K as 7"."""
    named, _, claimed = " ".join(words).partition(" as ")
    cards = parse_cards(named, seen.deck)
    claim = parse_rank(claimed, seen.deck) if claimed else None
    free = seen.announceable(mask)
    if not free and not mask[: act.ACCEPT].any():
        raise AnswerError("no play is due")
    if free and claim not in free:
        raise AnswerError("say `as RANK`" if claim is None else f"{claimed} can't be claimed")
    if not free and claim not in (None, seen.rank):
        raise AnswerError(f"the claim must be {seen.deck[seen.rank]}")
    for slot in np.flatnonzero(cards > seen.hand):
        held = f"only {seen.hand[slot]}" if seen.hand[slot] else "no"
        raise AnswerError(f"you hold {held} {seen.name(int(slot))}")
    if cards.sum() > seen.number("most"):
        raise AnswerError(f"{cards.sum()} cards are too many")
    if (cards < seen.picked).any():
        raise AnswerError(f"you have already picked {format_cards(seen.picked, seen.deck)}")
    actions, refused = walk(seen, mask, cards, claim if free else None)
    if refused is not None:
        word = act.words(refused, seen.deck, seen.base if not free or claim is None else claim)
        raise AnswerError(f"{cards.sum()} cards: {word} is not allowed")
    return actions
