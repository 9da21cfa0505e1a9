"""A person at the table: whole games by keys and mouse, and their records."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.table.game import Game
from cheat_env import records
from cheat_env.state import CLAIM_OUTCOME, LIE, OVER

pytest.importorskip("textual")

from at_the_table import (
    OPPONENTS,
    SHORT,
    can,
    chips,
    nothing_cut_off,
    play,
    play_unseen,
    press,
    table,
    take_turn,
    text,
    to_the_end,
    until_asked,
)
from textual.pilot import Pilot

from agents.table.app import TableApp
from agents.table.heard import Event

# --- Whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "seed"), SHORT)
def test_a_deal_is_played_to_its_end_by_keys(variant: str, seed: int, tmp_path: Path) -> None:
    """The result and the lies are told, the next deal begins, and the record replays."""
    app = table(tmp_path, variant, seed=seed)

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


def test_what_another_is_asked_in_private_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1: the screen stands still while another seat is asked about its complete sets."""
    app = table(tmp_path, seed=13)
    draw, step = app.draw, app.game.step
    private = []

    def drawn() -> None:
        assert not app.game.private
        draw()

    def stepped() -> list[Event]:
        private.append(app.game.private)
        return step()

    monkeypatch.setattr(app, "draw", drawn)
    monkeypatch.setattr(app.game, "step", stepped)
    play(app, to_the_end)
    assert any(private)


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
