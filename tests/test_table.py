"""A person at the table: whole games by keys and mouse, records, words."""

from __future__ import annotations

import asyncio
import string
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from agents import __main__ as cli
from agents.table.choice import MOVES, Choice
from agents.table.game import Game
from agents.table.speech import LANGUAGES, WORDS, Speech
from cheat_env import records
from cheat_env.cards import RANKS, SLOTS
from cheat_env.state import CLAIM_OUTCOME, LIE, OVER

pytest.importorskip("textual")

from textual.pilot import Pilot
from textual.widgets import Static

from agents.table.app import Chip, TableApp
from agents.table.command import MISSING

SIZE = (80, 24)
OPPONENTS = ["honest", "counter", "bluffer"]


def table(
    directory: Path, variant: Any = "russian", language: str = "en", **settings: Any
) -> TableApp:
    """Return a table with the cards of a seed, that does not wait between moves."""
    settings = {"opponents": OPPONENTS, "seed": 5, "directory": directory} | settings
    return TableApp(Game(variant, **settings), Speech(language), pause=0)


def play(app: TableApp, script: Callable[[Pilot[str]], Awaitable[None]], size: Any = SIZE) -> None:
    """Run a script at a table that nobody sees."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await until_asked(pilot)
            await script(pilot)

    asyncio.run(run())


async def until_asked(pilot: Pilot[str]) -> None:
    """Wait until the person is asked or the deal is over, and the screen shows it."""
    app = pilot.app
    await app.workers.wait_for_complete()
    await pilot.pause()


def chips(app: TableApp, kind: str) -> list[Chip]:
    """Return the chips of a kind that may be pressed."""
    return [
        chip for chip in app.query(Chip) if chip.kind == kind and chip.display and not chip.disabled
    ]


def text(app: TableApp, name: str) -> str:
    """Return what a part of the screen says."""
    return str(app.query_one(f"#{name}", Static).content)


def can(app: TableApp, move: str) -> bool:
    """Say whether a button may be pressed."""
    return move in {chip.value for chip in chips(app, "move")}


async def press(pilot: Pilot[str], *keys: str) -> None:
    """Press keys, and wait for what they lead to."""
    await pilot.press(*keys)
    await until_asked(pilot)


async def take_turn(pilot: Pilot[str]) -> None:
    """Take one turn by keys: challenge the fourth claim that may be, else lay one card."""
    app = pilot.app
    app.turns = getattr(app, "turns", 0) + 1
    discards = chips(app, "rank") if app.choice.discards else []
    if discards:
        await press(pilot, discards[0].key)
    elif can(app, "challenge") and (app.turns % 4 == 0 or not app.choice.can_play()):
        await press(pilot, "c" if app.turns % 4 == 0 or not can(app, "accept") else "t")
    else:
        await press(pilot, *(["right"] if app.choice.claims else []), chips(app, "card")[0].key)
        assert can(app, "lay")
        await press(pilot, "enter")


async def to_the_end(pilot: Pilot[str]) -> None:
    """Play a deal to its end."""
    for _ in range(500):
        if pilot.app.game.over:
            return
        await take_turn(pilot)
    raise AssertionError("the deal has no end")


def play_unseen(game: Game) -> None:
    """Play a deal to its end without a screen, in the same way."""
    turns = 0
    while not game.over:
        if game.asked:
            choice, turns = Choice(game.seen(), game.mask()), turns + 1
            game.person.choose(_turn(choice, turns))
        game.step()


def _turn(choice: Choice, turns: int) -> list[int]:
    if choice.discards:
        return choice.discard(choice.discards[0])
    if choice.can("challenge") and (turns % 4 == 0 or not choice.can_play()):
        lets = turns % 4 and choice.can("accept")
        return [MOVES["accept" if lets else "challenge"]]
    choice.turn_claim(1)
    slot = next(slot for slot in range(SLOTS) if choice.can_pick(slot))
    choice.picked[slot] += 1
    return choice.play()


def nothing_cut_off(app: TableApp) -> None:
    """Assert that every part of the screen lies within it, above the next one, and shows all."""
    bottom = 0
    for part in app.screen.children:
        if not part.display or part.region.height == 0:
            continue
        assert part.region.y >= bottom, part
        bottom = part.region.bottom
        assert part.region.right <= app.size.width, part
    assert bottom <= app.size.height
    for chip in app.query(Chip):
        if chip.display:
            assert len(str(chip.content)) <= chip.content_size.width, chip.content
    for seat in app.query("#seats Static"):
        assert seat.region.height >= 1


# --- Whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "seed"), [("english", 14), ("marquoir", 15), ("russian", 13)])
def test_a_deal_is_played_to_its_end_by_keys(variant: str, seed: int, tmp_path: Path) -> None:
    """The result and the lies are told, the next deal begins, and the record replays."""
    app = table(tmp_path, variant, seed=seed)  # short deals

    async def script(pilot: Pilot[str]) -> None:
        nothing_cut_off(app)
        await to_the_end(pilot)
        nothing_cut_off(app)
        assert "They lied: " in text(app, "asked")
        assert "The deal is over." in text(app, "log")
        await press(pilot, "n")
        assert not app.game.over
        assert "deal 2" in text(app, "headline")

    play(app, script)
    for path in tmp_path.iterdir():
        faults = [fault for _, found in records.load(path).play() for fault in found]
        assert not faults


def test_a_match_of_several_deals_is_one_record(tmp_path: Path) -> None:
    """The second deal of a match is played on, and its record holds both."""
    game = Game({"base": "english", "deals": 2}, OPPONENTS, seed=5, directory=tmp_path)
    play_unseen(game)
    game.go_on()
    assert game.match == 0
    play_unseen(game)
    (path,) = tmp_path.iterdir()
    replay = records.load(path)
    assert not [fault for _, found in replay.play() for fault in found]
    assert replay.table["deal"] == 1 and replay.table["phase"] == OVER
    game.go_on()
    assert game.match == 1


# --- Moves ----------------------------------------------------------------------------------------


def test_a_card_is_laid_with_the_mouse(tmp_path: Path) -> None:
    """A click picks a card, names a rank where it is free, and lays."""
    app = table(tmp_path, seat=0)

    async def script(pilot: Pilot[str]) -> None:
        if app.choice.claims:
            await pilot.click(f"#{chips(app, 'rank')[2].id}")
        card = chips(app, "card")[0]
        held = int(app.choice.seen.hand.sum())
        await pilot.click(f"#{card.id}")
        assert text(app, "picked").startswith("Picked: ")
        await pilot.click("#move-lay")
        await until_asked(pilot)
        assert int(app.choice.seen.hand.sum()) == held - 1 or "You lied" in text(app, "log")

    play(app, script)


def test_what_is_picked_can_be_taken_back(tmp_path: Path) -> None:
    """No more cards can be picked than may be laid, and all go back into the hand."""
    app = table(tmp_path, "english", seat=0)

    async def script(pilot: Pilot[str]) -> None:
        while not chips(app, "card"):
            await press(pilot, "t")
        assert not can(app, "lay")
        while cards := chips(app, "card"):
            await pilot.press(cards[0].key)
        assert app.choice.picked.sum() == 4
        assert can(app, "lay")
        await press(pilot, "backspace")
        assert not app.choice.picked.any()
        assert not can(app, "lay")

    play(app, script)


def test_what_is_not_legal_does_nothing(tmp_path: Path) -> None:
    """A key and a click on what is not enabled play nothing."""
    app = table(tmp_path, "english", seat=0)

    async def script(pilot: Pilot[str]) -> None:
        while app.choice.can_play():
            await take_turn(pilot)
        played = len(app.game.env.actions_played)
        await press(pilot, "a", "2", "3", "enter", "h", "p", "n", "w")
        await pilot.click("#move-lay")
        await until_asked(pilot)
        assert len(app.game.env.actions_played) == played

    play(app, script)


def test_a_challenge_turns_up_the_claim(tmp_path: Path) -> None:
    """The log says who challenged, what lay there and who takes the pile."""
    app = table(tmp_path, seat=1)

    async def script(pilot: Pilot[str]) -> None:
        while not can(app, "challenge"):
            await take_turn(pilot)
        await press(pilot, "c")
        log = text(app, "log")
        assert "You challenge." in log
        assert "lied: " in log or "told the truth: " in log
        assert "the pile: " in log

    play(app, script)


def test_a_quad_is_discarded_or_kept(tmp_path: Path) -> None:
    """Who takes the pile in the Russian game is asked about its complete sets."""
    for answer in ("discard", "keep"):
        app = table(tmp_path, seed=0, seat=0)

        async def script(pilot: Pilot[str], app: TableApp = app, answer: str = answer) -> None:
            while not app.choice.discards:
                if can(app, "challenge"):
                    await press(pilot, "c")
                else:
                    claims = ["right"] if app.choice.claims else []
                    await press(pilot, *claims, chips(app, "card")[0].key, "enter")
            nothing_cut_off(app)
            assert can(app, "keep")
            held = int(app.choice.seen.hand.sum())
            rank = chips(app, "rank")[0]
            await press(pilot, rank.key if answer == "discard" else "h")
            assert ("You discard the four" in text(app, "log")) == (answer == "discard")
            gone = "Sets of four discarded: " in text(app, "middle")
            assert gone == (answer == "discard")
            assert int(app.game.seen().hand.sum()) == held - 4 * gone

        play(app, script)


# --- The end --------------------------------------------------------------------------------------


def test_the_hidden_cards_are_shown_at_the_end_alone(tmp_path: Path) -> None:
    """Everybody's cards, and what was laid in truth; before it nobody else's are on the screen."""
    app = table(tmp_path, {"base": "russian", "max_plays": 30})

    async def script(pilot: Pilot[str]) -> None:
        with pytest.raises(ValueError, match="not over"):
            app.game.scene(open_hands=True)
        await press(pilot, "w")
        assert not app.open_hands
        await to_the_end(pilot)
        assert "nobody wins" in text(app, "asked")
        await press(pilot, "w")
        assert "never dealt: " in text(app, "middle")
        assert "(a lie)" in text(app, "log")
        nothing_cut_off(app)
        await press(pilot, "w")
        assert not app.open_hands

    play(app, script)


def test_lies_are_counted(tmp_path: Path) -> None:
    """What is told of lies is what happened, however much of it the person turned up."""
    game = Game("english", ["bluffer(lie=1)"], seed=5, seat=0, directory=tmp_path)
    play_unseen(game)
    told, (path,) = game.lies(), tmp_path.iterdir()
    replay = records.load(path)
    lies, caught = [0, 0], [0, 0]
    for move, _ in replay.play():
        seat, verb = move.split()[:2]
        claimant = int(replay.table["claimant"])
        if verb == "plays":
            cards, rank = replay.table["group"], replay.table["claim"]
            lies[seat == "0"] += int(cards.sum() > cards[rank])
        elif verb == "challenges" and replay.table["recent"][0][CLAIM_OUTCOME] == LIE:
            caught[0] += seat == "0"
            caught[1] += claimant == 0
    assert told == {
        "lies": lies[0],
        "caught": caught[0],
        "own": lies[1],
        "own_caught": caught[1],
    }
    assert min(told.values()) > 0


def test_a_game_that_is_left_is_kept(tmp_path: Path) -> None:
    """What was played of it is a record too, in a file of its own."""
    for _ in range(2):
        app = table(tmp_path, seat=0)

        async def script(pilot: Pilot[str]) -> None:
            for _ in range(3):
                await take_turn(pilot)
            await pilot.press(chips(pilot.app, "card")[0].key)
            await pilot.press("ctrl+q")

        play(app, script)
    paths = sorted(path.name for path in tmp_path.iterdir())
    assert paths == ["russian-5-0-2.yaml", "russian-5-0.yaml"]
    for name in paths:
        replay = records.load(tmp_path / name)
        assert not [fault for _, found in replay.play() for fault in found]
        assert replay.table["phase"] != OVER


def test_a_seed_seats_and_deals_the_same(tmp_path: Path) -> None:
    """Without a seat the person's is drawn from the seed, anew for every match."""
    seats = [Game("russian", OPPONENTS, seed=seed, directory=tmp_path).seat for seed in range(20)]
    again = [Game("russian", OPPONENTS, seed=seed, directory=tmp_path).seat for seed in range(20)]
    assert seats == again
    assert set(seats) == set(range(4))


# --- Words ----------------------------------------------------------------------------------------


def placeholders(value: Any) -> Any:
    """Return the names of the places in a word, by form where it has some."""
    if isinstance(value, dict):
        return {form: placeholders(word) for form, word in value.items()}
    return {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_words(language: str) -> None:
    """Each has the same keys, in the same order, with the same places; cards and keys are free."""
    found, english = (
        yaml.safe_load((WORDS / f"{name}.yaml").read_text("utf-8")) for name in (language, "en")
    )
    assert list(found) == list(english)
    free = ("faces", "keyboard")
    assert {key: placeholders(word) for key, word in found.items() if key not in free} == {
        key: placeholders(word) for key, word in english.items() if key not in free
    }
    faces = [found["faces"].get(rank, rank) for rank in (*RANKS, "Jo")]
    assert len(set(faces)) == len(faces)
    assert {path.stem for path in WORDS.iterdir()} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "size"),
    [
        *[(language, size) for language in LANGUAGES for size in ((80, 24), (45, 24))],
        *[("fr", (45, 40)), ("ru", (120, 50))],
    ],
)
def test_nothing_is_cut_off(language: str, size: tuple[int, int], tmp_path: Path) -> None:
    """On a terminal and on a narrow page everything is to be seen, at eight seats too."""
    app = table(tmp_path, "marquoir", language, opponents=["honest"] * 7)

    async def script(pilot: Pilot[str]) -> None:
        for _ in range(3):
            nothing_cut_off(app)
            await take_turn(pilot)

    play(app, script, size)


def test_keys_of_the_language_pick_its_cards(tmp_path: Path) -> None:
    """A card's key is the letter on it, whatever keyboard that is."""
    for language, letter, name in (("fr", "v", "J"), ("ru", "в", "J"), ("en", "j", "J")):
        app = table(tmp_path, language=language, seat=0, seed=0)

        async def script(pilot: Pilot[str], letter: str = letter, name: str = name) -> None:
            slot = pilot.app.game.deck.index(name)
            assert pilot.app.choice.can_pick(slot)
            await pilot.press(letter)
            assert pilot.app.choice.picked[slot] == 1

        play(app, script)


# --- The command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--variant", "poker"], "poker"),
        (["--variant", "{"], "is no name and no mapping"),
        (["--opponents", "nobody"], "agent 'nobody'"),
        (["--opponents", "honest", "honest", "--players", "6"], "--opponents: 2 given"),
        (["--seat", "9"], "--seat 9: must be from 0 to 3"),
        (["--seed", "-1"], "seed"),
        (["--port", "0"], "--port 0"),
        (["--pause", "-1"], "--pause -1"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names what is wrong and ends with 2, before anything is on the screen."""
    assert cli.main(["play", "--records", str(tmp_path / "games"), *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without textual the extra that brings it is told."""
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert cli.main(["play", "--records", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {MISSING}\n"


def test_an_agent_that_fails_ends_the_table_in_words(tmp_path: Path) -> None:
    """The app returns why it stopped, instead of a traceback."""
    app = table(tmp_path, seat=0)

    class Lost:
        name, observation = "lost", "table"

        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            return np.array([99])

    app.game.agents[1] = Lost()
    play(app, take_turn)
    assert "agent lost: action 99 is illegal" in str(app.return_value)
