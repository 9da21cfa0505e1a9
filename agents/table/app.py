"""The screen of the table: textual widgets that show a `Game` and hand on what is pressed."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import numpy as np
from textual import events, work
from textual.app import App, ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.message import Message
from textual.widgets import Static

from agents.base import AgentError
from agents.table.choice import MOVES, Choice
from agents.table.game import Game
from agents.table.heard import Event
from agents.table.picture import Picture
from agents.table.speech import Speech
from cheat_env import IllegalAction
from cheat_env.cards import JOKER, JOKER_NAME

#: The keys of cards that are not their own name in lower case.
CARD_KEYS = {"10": "0", JOKER_NAME: "o"}
#: The buttons with their keys, in their order on the screen.
KEYS = {
    "lay": "enter",
    "challenge": "c",
    "accept": "t",
    "pass": "p",
    "believe": "b",
    "keep": "h",
    "clear": "backspace",
    "next": "n",
    "open": "w",
    "quit": "ctrl+q",
}
#: The buttons that are always to be seen, so that they keep their places.
STANDING = ("lay", "challenge", "accept", "clear")
#: How many lines the log keeps.
LOG_LINES = 300


class Chip(Static, can_focus=False):
    """A card or a button: it is pressed with the mouse, or by its key."""

    class Pressed(Message):
        """A chip was pressed."""

        def __init__(self, chip: Chip) -> None:
            super().__init__()
            self.chip = chip

    def __init__(self, kind: str, value: str, key: str) -> None:
        super().__init__("", id=f"{kind}-{value}", classes=kind, markup=False)
        self.kind, self.value, self.key = kind, value, key

    def show(self, label: str, shown: bool, enabled: bool, chosen: bool = False) -> None:
        """Show a label, or nothing; a chip that is not enabled can't be pressed."""
        self.display, self.disabled = shown, not enabled
        self.set_class(chosen, "chosen")
        self.update(label)

    def press(self) -> None:
        """Say that the chip was pressed, where it may be."""
        if self.display and not self.disabled:
            self.post_message(self.Pressed(self))

    def on_click(self) -> None:
        """Press the chip with the mouse."""
        self.press()


class TableApp(App[str]):
    """A person's screen; what it returns is why it had to stop, if it had.

    Args:
        game: who plays what.
        speech: the words.
        pause: seconds between what the others do.
    """

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: ClassVar = [(0, "-narrow"), (70, "-wide")]
    VERTICAL_BREAKPOINTS: ClassVar = [(0, "-short"), (32, "-tall")]

    def __init__(self, game: Game, speech: Speech, pause: float = 0.7) -> None:
        super().__init__()
        self.game, self.speech, self.pause = game, speech, pause
        self.picture = Picture(game, speech)
        self.choice = Choice(game.seen(), game.mask())
        self.open_hands = False
        self.not_kept: str | None = None
        self._lines: list[str] = []

    # --- What is on the screen --------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen from top to bottom."""
        yield Static(id="headline", markup=False)
        yield Grid(
            *(Static(id=f"seat-{i}", markup=False) for i in range(self.game.players)), id="seats"
        )
        yield Static(id="middle", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static(id="log", markup=False)
        yield Static(id="asked", markup=False)
        yield Static(id="picked", markup=False)
        deck = self.game.deck
        slots = {**dict(enumerate(deck)), JOKER: JOKER_NAME}
        yield Grid(
            *(Chip("card", str(slot), _key(name)) for slot, name in slots.items()), id="hand"
        )
        yield Grid(
            *(Chip("rank", str(rank), _key(deck[rank])) for rank in range(len(deck))), id="ranks"
        )
        yield Grid(*(Chip("move", name, key) for name, key in KEYS.items()), id="moves")

    def on_mount(self) -> None:
        """Deal."""
        self._deal()

    def on_unmount(self) -> None:
        """Keep the game that is left, as far as it was played."""
        try:
            self.game.save()
        except OSError as error:
            self.not_kept = str(error)

    def _deal(self) -> None:
        self.open_hands = False
        self._lines = []
        self.write(self.speech.say("dealt"))
        self.draw()
        self.play_on()

    def write(self, *lines: str) -> None:
        """Write lines at the end of the log, and show them."""
        self._lines = [*self._lines, *lines][-LOG_LINES:]
        self.query_one("#log", Static).update("\n".join(self._lines))
        self.call_after_refresh(self.query_one("#scroll").scroll_end, animate=False)

    def draw(self) -> None:
        """Draw the table as it is, with nothing chosen yet."""
        self.choice = Choice(self.game.seen(), self.game.mask())
        self.query_one("#headline", Static).update(self.picture.headline())
        for seat, line in enumerate(self.picture.seats(self.open_hands)):
            shown = self.query_one(f"#seat-{seat}", Static)
            shown.update(line.text)
            shown.set_class(line.acts, "acts")
        self.query_one("#middle", Static).update(self.picture.middle(self.open_hands))
        self.draw_choice()

    def draw_choice(self) -> None:
        """Draw what the person may choose, and has chosen."""
        choice, said = self.choice, self.picture
        self.query_one("#asked", Static).update(said.asked(choice))
        picked = self.query_one("#picked", Static)
        picked.display = not self.game.over
        picked.update(said.picked(choice))
        for chip in self.query("#hand Chip").results(Chip):
            slot = int(chip.value)
            left = int(choice.seen.hand[slot] - choice.picked[slot])
            face = self.speech.cards(choice.seen.name(slot))
            label = self.speech.say("card", card=face, count=left)
            shown, chosen = bool(choice.seen.hand[slot]), bool(choice.picked[slot])
            chip.show(label, shown and not self.game.over, choice.can_pick(slot), chosen)
        offered = choice.claims or choice.discards
        self.query_one("#ranks").display = bool(offered)
        for chip in self.query("#ranks Chip").results(Chip):
            rank = int(chip.value)
            label = self.speech.cards(self.game.deck[rank])
            chip.show(label, rank in offered, rank in offered, rank == choice.claim)
        for chip in self.query("#moves Chip").results(Chip):
            chip.show(*self._move(chip))

    def _move(self, chip: Chip) -> tuple[str, bool, bool]:
        """Return the label of a button, whether it is shown, and whether it may be pressed."""
        name, over = chip.value, self.game.over
        word = "close" if name == "open" and self.open_hands else name
        key = {"enter": self.speech.say("enter"), "backspace": "⌫", "ctrl+q": "^q"}.get(
            chip.key, chip.key
        )
        may = {
            "lay": self.choice.can_lay(),
            "clear": bool(self.choice.picked.any()),
            "next": over,
            "open": over,
            "quit": True,
        }
        enabled = may[name] if name in may else self.choice.can(name)
        return (
            f"{self.speech.say(word)} ({key})",
            enabled or (name in STANDING and not over),
            enabled,
        )

    # --- What is pressed --------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Press the chip of a key; arrows name a rank, page keys leaf through the log."""
        if event.key in ("left", "right") and self.choice.claims:
            self.choice.turn_claim(1 if event.key == "right" else -1)
            self.draw_choice()
        elif event.key in ("pageup", "pagedown"):
            scroll = self.query_one("#scroll", VerticalScroll)
            (scroll.scroll_page_up if event.key == "pageup" else scroll.scroll_page_down)()
        else:
            pressed = self.speech.key((event.character or "").lower())
            names = {event.key, pressed, "0" if pressed == "1" else pressed}
            for chip in self.query(Chip).results(Chip):
                # The ranks that may be named have the keys of the cards, which come first.
                named = chip.kind == "rank" and self.choice.claims
                if chip.key in names and chip.display and not chip.disabled and not named:
                    event.prevent_default()
                    chip.press()
                    return

    def on_chip_pressed(self, message: Chip.Pressed) -> None:
        """Do what a chip stands for, if it may still be done."""
        chip, choice = message.chip, self.choice
        if chip.kind == "move":
            self._press_move(chip.value)
        elif chip.kind == "card" and choice.can_pick(int(chip.value)):
            choice.picked[int(chip.value)] += 1
            self.draw_choice()
        elif chip.kind == "rank" and int(chip.value) in choice.discards:
            self._play(choice.discard(int(chip.value)))
        elif chip.kind == "rank" and int(chip.value) in choice.claims:
            choice.claim = int(chip.value)
            self.draw_choice()

    def _press_move(self, name: str) -> None:
        choice = self.choice
        if name == "quit":
            self.exit()
        elif name == "clear":
            choice.picked[:] = 0
            self.draw_choice()
        elif name == "lay" and choice.can_lay():
            self._play(choice.play())
        elif name in MOVES and choice.can(name):
            self._play([MOVES[name]])
        elif name == "next" and self.game.over:
            self.game.go_on()
            self._deal()
        elif name == "open" and self.game.over:
            self._show_hidden()

    def _play(self, actions: list[int]) -> None:
        """Play a turn of the person, and let the others play on."""
        self.game.person.choose(actions)
        self.choice = Choice(self.game.seen(), np.zeros_like(self.choice.mask))
        self.play_on()

    def _show_hidden(self) -> None:
        """Show everybody's cards and what was laid in truth, or hide them again."""
        self.open_hands = not self.open_hands
        self.draw()
        if self.open_hands:
            self.write(*self.picture.truth())

    @work(exclusive=True)
    async def play_on(self) -> None:
        """Let everybody act until the person is asked or the deal is over."""
        heard: list[Event] = []
        while not self.game.over and not self.game.asked:
            try:
                heard += await asyncio.to_thread(self.game.step)
            except (AgentError, IllegalAction, OSError) as error:
                self.exit(str(error))
                return
            if self.game.private:  # that another seat is asked this is not to be seen (K1)
                continue
            if heard:
                self.write(*map(self.picture.event, heard))
                heard = []
                if not self.game.over and not self.game.asked:
                    self.draw()
                    await asyncio.sleep(self.pause)
        self.draw()
        if self.game.over:
            self.write(*self.picture.results())


def _key(card: str) -> str:
    """Return the key of a card."""
    return CARD_KEYS.get(card, card.lower())
