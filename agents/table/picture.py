"""What the screen says: the table as the person may see it, in the words of a language.

Cards come from the person's own observation and from `cheat_env.scenes`, so what may be seen is
decided there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from agents.table.choice import Choice
from agents.table.game import Game
from agents.table.heard import Event
from agents.table.speech import Speech, short
from cheat_env.cards import format_cards


class SeatLine(NamedTuple):
    """A seat in words, and whether it is asked."""

    text: str
    acts: bool


class Picture:
    """The words for what a game shows."""

    def __init__(self, game: Game, speech: Speech) -> None:
        self.game, self.speech = game, speech

    def name(self, seat: int) -> str:
        """Return what a seat is called in lists."""
        if seat == self.game.seat:
            return self.speech.say("you_seat", seat=seat)
        return self.speech.say("seat", name=short(self.game.names[seat]), seat=seat)

    def about(self, key: str, seat: int, **values: object) -> str:
        """Return a sentence about a seat."""
        who = None if seat == self.game.seat else self.name(seat)
        return self.speech.about(key, who, **values)

    def event(self, event: Event) -> str:
        """Return what was heard as a sentence."""
        if event.key == "pile_gone":
            return self.speech.say(event.key)
        cards, rank = self.speech.cards(event.cards), self.speech.cards(event.rank)
        return self.about(event.key, event.seat, count=event.size, rank=rank, cards=cards)

    def headline(self) -> str:
        """Return the game, the deal and the rank in force."""
        variant, seen = self.game.variant, self.game.seen()
        name = variant if isinstance(variant, str) else f"{variant.get('base')}+"
        deal = self.game.deals_seen
        said = [self.speech.say("headline", game=name, deal=deal)]
        if not self.game.over:
            rank = self.speech.cards(seen.deck[seen.rank]) if seen.in_force else ""
            said.append(self.speech.say("rank" if rank else "rank_free", rank=rank))
        return ", ".join(said)

    def seats(self, open_hands: bool) -> Iterator[SeatLine]:
        """Yield a line for each seat."""
        fields, players = self.game.seen().fields, self.game.players
        for place in self.game.scene(open_hands).places:
            offset = (place.seat - self.game.seat) % players
            said = [self.speech.say("hand_size", count=place.size)]
            if fields["out"][offset]:
                said.append(self.speech.say("is_out", place=int(fields["out"][offset])))
            if fields["passed"][offset]:
                said.append(self.speech.say("is_passed"))
            if self.game.over and self.game.table["loser"][place.seat]:
                said.append(self.speech.say("is_loser"))
            if fields["scores"].any() and self.game.counts and not open_hands:
                said.append(self.speech.say("score", count=int(fields["scores"][offset])))
            if open_hands:
                said[0] = self.speech.cards(place.cards or "") or self.speech.say("nothing")
            mark = "▶" if place.acts else " "
            yield SeatLine(f"{mark} {self.name(place.seat)}  {', '.join(said)}", place.acts)

    def middle(self, open_hands: bool) -> str:
        """Return what lies between the players; with `open_hands` the covered cards too."""
        say, cards, seen = self.speech.say, self.speech.cards, self.game.seen()
        if open_hands:
            table, deck = self.game.table, self.game.deck
            pile = format_cards(table["pile"].sum(axis=0) + table["group"], deck)
            aside = format_cards(table["aside"], deck)
            nothing = say("nothing")
            return say("hidden", pile=cards(pile) or nothing, aside=cards(aside) or nothing)
        first = say("pile", count=seen.number("pile_size"))
        if seen.number("group_size"):
            first += f"  {self._last()}"
        lines = [first]
        for key, field in (("quads", "quads"), ("gone", "gone")):
            if seen.fields[field].any():
                lines.append(say(key, cards=cards(seen.cards(field))))
        for key, field in (("burnt", "burnt_size"), ("safe", "safe_turns")):
            if seen.number(field):
                lines.append(say(key, count=seen.number(field)))
        return "\n".join(lines)

    def _last(self) -> str:
        """Return the last claim, with its cards where the person laid them."""
        table, deck = self.game.table, self.game.deck
        claimant = int(table["claimant"])
        rank, count = self.speech.cards(deck[table["claim"]]), int(table["group_size"])
        text = self.speech.say("last", count=count, rank=rank, who=self.name(claimant))
        if claimant == self.game.seat:
            own = self.speech.cards(format_cards(table["group"], deck))
            text += f" ({self.speech.say('yours', cards=own)})"
        return text

    def asked(self, choice: Choice) -> str:
        """Return what the person is asked, who else is, or how the deal ended."""
        if self.game.over:
            return "\n".join(self.results())
        if not self.game.asked:
            return self.speech.say("waits", who=self.name(int(self.game.table["turn"])))
        seen = choice.seen
        if choice.discards:
            return self.speech.say("ask_quads")
        if not choice.can_play():
            return self.speech.say("ask_challenge")
        fewest, most = seen.number("fewest"), seen.number("most")
        sizes = f"{most}" if fewest == most else f"{fewest}-{most}"
        key = "ask_announce" if choice.claims else "ask_play"
        key += "_or_challenge" if choice.can("challenge") else ""
        rank = self.speech.cards(seen.deck[seen.rank]) if seen.in_force else ""
        return self.speech.say(key, sizes=sizes, rank=rank)

    def picked(self, choice: Choice) -> str:
        """Return what is picked, and as what it will be claimed where the rank is free."""
        cards = self.speech.cards(format_cards(choice.picked, self.game.deck))
        said = [self.speech.say("picked", cards=cards)] if cards else []
        if choice.claims and choice.claim is not None:
            rank = self.speech.cards(self.game.deck[choice.claim])
            said.append(self.speech.say("claim", rank=rank))
        return ", ".join(said)

    def results(self) -> Iterator[str]:
        """Yield how the deal that is over ended, and how often somebody lied."""
        table = self.game.table
        if table["truncated"]:
            yield self.speech.say("truncated")
        else:
            losers = np.flatnonzero(table["loser"]).tolist()
            first = np.flatnonzero(table["out"] == 1).tolist()
            said = [self.speech.say("over")]
            said += [self.about("loses", seat) for seat in losers]
            said += [self.about("wins", seat) for seat in first if not losers]
            yield " ".join(said)
        yield self.speech.say("lied", **self.game.lies())

    def truth(self) -> Iterator[str]:
        """Yield every claim of the deal that is over, with the cards that were laid."""
        for claim in self.game.claims:
            rank, cards = self.speech.cards(claim.rank), self.speech.cards(claim.cards)
            lie = f" {self.speech.say('lie')}" if claim.lie else ""
            yield self.about("truth", claim.seat, rank=rank, cards=cards) + lie
