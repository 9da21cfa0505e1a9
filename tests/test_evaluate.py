"""The evaluation: seats, deals, chance, intervals, files and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import GAMES
from scipy import stats

from agents import Agent, load
from cheat_env import Rules, Tables
from cheat_env import actions as act
from cheat_env.observations import MEMORY, view
from train import evaluate
from train.evaluate import Match, play_match

KEYS = {"variant", "players", "agent", "opponents", "deals", "share", "low", "high", "truncated"}


class Fixed:
    """A player that always takes the first legal action: all chance lies in the deal."""

    name = "fixed"
    observation = "table"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        return np.argmax(mask, axis=1)


class Watcher(Fixed):
    """The same, and keeps the hand of every seat that opened a deal."""

    name = "watcher"
    observation = "memory"

    def __init__(self) -> None:
        self.hands: list[bytes] = []

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        o = view(observation)
        opens = (o["recent"][:, 0, 0] == 0) & (o["picked"].sum(axis=1) == 0)
        self.hands += [hand.tobytes() for hand in o["own_hand"][opens]]
        return super().act(observation, mask, rng)


class Illegal(Fixed):
    """A player that does not look at the mask."""

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
        return np.full(len(mask), act.BELIEVE)


def run(directory: Path, *more: str, **options: Any) -> tuple[int, Path]:
    """Run the command line with few deals; returns the exit code and where it writes."""
    given = {
        "variant": "english",
        "players": "4",
        "agents": "honest",
        "against": "random honest_guard",
        "deals": "6",
        "seed": "1",
        "out": str(directory),
    } | options
    words = [word for key, value in given.items() for word in (f"--{key}", *str(value).split(" "))]
    try:
        return evaluate.main([*words, *more]), directory
    except SystemExit as ended:
        return int(ended.code or 0), directory


def document(directory: Path) -> list[dict[str, Any]]:
    """Return the matches that an evaluation wrote, refusing what is no strict JSON."""
    text = (directory / "evaluation.json").read_text("utf-8")
    found = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    matches: list[dict[str, Any]] = found["matches"]
    return matches


def columns(agent: Agent, opponent: Agent, deals: range, variant: str = "english") -> Any:
    """Return won, lost, reward, finished and plays of some deals of seed 1, by rotation."""
    game = Rules.load(variant, deals=1)
    return evaluate._play_chunk(game, 4, agent, opponent, 1, np.array(deals))


# --- Seats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "players"), GAMES)
def test_one_policy_in_all_seats_has_an_equal_share(variant: str, players: int) -> None:
    """S27: with every rotation of the seats no seat's luck is left: exactly 1/n wins."""
    match = play_match(variant, players, Fixed(), Fixed(), 12, 3, {"max_plays": 5000})
    equal = (players - 1) / players if variant == "russian" else 1 / players
    assert match.truncated == 0
    assert (match.share, match.low, match.high) == pytest.approx((equal, equal, equal))
    assert match.reward == pytest.approx(0, abs=1e-6)


def test_the_agents_are_never_mixed_up() -> None:
    """An agent that lays true cards beats three that never do; turned round it is the other way."""
    strong = play_match("english", 4, load("honest"), load("random"), 20, 1)
    weak = play_match("english", 4, load("random"), load("honest"), 20, 1)
    assert strong.share is not None and weak.share is not None
    assert strong.share > 0.7 and weak.share < 0.1
    assert (strong.agent, strong.opponents) == (weak.opponents, weak.agent) == ("honest", "random")


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
def test_what_is_won_and_lost(variant: str) -> None:
    """Marquoir is won by going out first and lost by the fullest hand; russian is not to lose."""
    match = play_match(variant, 4, load("random"), load("counter"), 30, 2)
    assert match.share is not None and match.lost is not None and match.reward is not None
    assert match.deals == 30 and match.truncated < 0.2
    if variant == "english":
        assert match.lost == 0
        assert match.reward == pytest.approx(match.share - (1 - match.share) / 3)
    elif variant == "russian":
        assert match.lost == pytest.approx(1 - match.share)
        assert match.reward == pytest.approx(-match.lost + match.share / 3)
    else:
        assert 0 < match.lost < 1 - match.share


@pytest.mark.parametrize("variant", ["english", "marquoir", "russian"])
def test_rotations_are_one_deal_seen_from_every_seat(variant: str) -> None:
    """Where all seats play alike, rotation k of a deal tells what became of seat k."""
    won, lost, _, finished, plays = columns(Fixed(), Fixed(), range(6), variant)
    tables = Tables(variant, 4, 6, seed=1, auto_reset=False, deals=1)
    tables.reset(deals=range(6), numbers=0)
    while tables.action_mask.any():
        tables.step(np.argmax(tables.action_mask, axis=1))
    held = tables.state["hand_size"][:, :4]
    fullest = held == held.max(axis=1, keepdims=True)
    assert finished.all()
    assert np.array_equal(won, ~fullest if variant == "russian" else held == 0)
    assert np.array_equal(lost, fullest if variant != "english" else np.zeros((6, 4), np.bool_))
    assert (plays == tables.state["plays"][:, None]).all()


def test_an_illegal_action_is_never_replaced() -> None:
    """S25: an agent that does not look at the mask ends the evaluation with an error."""
    with pytest.raises(ValueError, match="illegal"):
        play_match("english", 4, Illegal(), load("honest"), 2, 1)


# --- Deals ----------------------------------------------------------------------------------------


def test_deals_differ() -> None:
    """S28: every deal of a match has other cards, and each rotation of a deal has the same."""
    agent, others = Watcher(), Watcher()
    play_match("english", 4, agent, others, 30, 1)
    assert len(agent.hands) == len(set(agent.hands)) == 30
    assert sorted(others.hands) == sorted(3 * agent.hands)


def test_a_deal_depends_on_the_seed_and_its_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """More deals, or other chunks, deal the same hands to the deals before."""
    few, many = Watcher(), Watcher()
    play_match("english", 4, few, few, 3, 1)
    monkeypatch.setattr(evaluate, "CHUNK", 2)
    play_match("english", 4, many, many, 7, 1)
    assert set(few.hands) < set(many.hands)
    other = Watcher()
    play_match("english", 4, other, other, 7, 2)
    assert not set(other.hands) & set(many.hands)


def test_more_deals_leave_the_earlier_chunks_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk's chance is its own: a match of two chunks is the first chunk and one more."""
    monkeypatch.setattr(evaluate, "CHUNK", 4)
    short = play_match("english", 4, load("bluffer"), load("random"), 4, 1)
    long = play_match("english", 4, load("bluffer"), load("random"), 8, 1)
    parts = [columns(load("bluffer"), load("random"), range(k, k + 4)) for k in (0, 4)]
    assert short.plays == parts[0][4].mean()
    assert long.plays == np.concatenate([part[4] for part in parts]).mean()


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    """S28: twice the same is the same file; another seed is another one."""
    files = [run(tmp_path / name, agents="bluffer")[1] / "evaluation.json" for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = run(tmp_path / "c", agents="bluffer", seed=2)[1] / "evaluation.json"
    assert other.read_bytes() != files[0].read_bytes()


def test_the_order_of_agents_changes_no_result(tmp_path: Path) -> None:
    """A match does not depend on which were played before it."""
    both = document(run(tmp_path / "a", against="random honest_guard")[1])
    turned = document(run(tmp_path / "b", against="honest_guard random")[1])
    assert both == turned[::-1]


# --- Intervals ------------------------------------------------------------------------------------


def test_the_interval_is_clustered_by_deal() -> None:
    """It is the t interval of the ratio of wins to finished games, over deals."""
    rng = np.random.default_rng(0)
    chance = rng.random((60, 1))
    won, finished = rng.random((60, 4)) < chance, rng.random((60, 4)) < 0.9
    won &= finished
    found = evaluate._share(won, finished)
    share = won.sum() / finished.sum()
    deals = [
        (w.sum() - share * f.sum()) / finished.sum(axis=1).mean()
        for w, f in zip(won, finished, strict=True)
    ]
    half = stats.t.ppf(0.975, 59) * np.std(deals, ddof=1) / np.sqrt(60)
    assert found["share"] == pytest.approx(share)
    assert (found["low"], found["high"]) == pytest.approx((share - half, share + half))
    picks = rng.integers(60, size=(4000, 60))
    shares = won[picks].sum(axis=(1, 2)) / finished[picks].sum(axis=(1, 2))
    assert (found["low"], found["high"]) == pytest.approx(
        np.quantile(shares, [0.025, 0.975]), abs=0.02
    )
    naive = 1.96 * np.sqrt(share * (1 - share) / finished.sum())
    assert half > 1.2 * naive


def test_copies_of_a_deal_add_no_certainty() -> None:
    """S28: rotations that end alike are one observation, not four."""
    won = np.random.default_rng(0).random((50, 1)) < 0.5
    one = evaluate._share(won, np.ones((50, 1), np.bool_))
    four = evaluate._share(np.repeat(won, 4, axis=1), np.ones((50, 4), np.bool_))
    assert four == pytest.approx(one)


def test_an_interval_stays_between_none_and_all() -> None:
    """Its ends are chances too; from one deal there is no interval."""
    won = np.zeros((4, 4), np.bool_)
    won[0, 0] = True
    everything = np.ones((4, 4), np.bool_)
    assert evaluate._share(won, everything)["low"] == 0
    assert evaluate._share(~won, everything)["high"] == 1
    one = evaluate._share(won[:1], everything[:1])
    assert one == {"share": 0.25, "low": None, "high": None}


def test_truncated_deals_are_apart(tmp_path: Path) -> None:
    """Callers among callers never end: no share, all truncated, null in the file."""
    match = play_match("english", 4, load("caller"), load("caller"), 3, 1, {"max_plays": 60})
    assert (match.share, match.low, match.high, match.reward) == (None, None, None, None)
    assert match.truncated == 1.0
    assert match.plays == 60
    evaluate.write([match], tmp_path)
    (written,) = document(tmp_path)
    assert written["share"] is None and written["truncated"] == 1.0
    assert "| - |" in (tmp_path / "evaluation.md").read_text("utf-8")


@pytest.mark.parametrize(("variant", "max_plays"), [("english", 60), ("russian", 40)])
def test_truncated_games_are_neither_won_nor_lost(variant: str, max_plays: int) -> None:
    """Where only some end, the share counts these alone."""
    agents = load("honest"), load("random")
    match = play_match(variant, 4, *agents, 20, 1, {"max_plays": max_plays})
    assert match.share is not None and match.reward is not None
    assert 0 < match.truncated < 1
    others = match.share - (1 - match.share) / 3
    if variant == "russian":
        assert match.lost == pytest.approx(1 - match.share)
        others = match.share / 3 - match.lost
    assert match.reward == pytest.approx(others)


# --- Files and the command line -------------------------------------------------------------------


def test_the_files(tmp_path: Path) -> None:
    """JSON has a match for every pair with all keys, Markdown a row."""
    code, directory = run(tmp_path, agents="honest random", against="random honest_guard")
    assert code == 0
    matches = document(directory)
    assert [(m["agent"], m["opponents"]) for m in matches] == [
        (agent, opponent)
        for agent in ("honest", "random")
        for opponent in ("random", "honest_guard")
    ]
    for match in matches:
        assert set(match) == set(Match.__dataclass_fields__) >= KEYS
        assert (match["variant"], match["players"], match["deals"]) == ("english", 4, 6)
        assert (match["seed"], match["policy"]) == (1, "sampled")
        assert match["low"] <= match["share"] <= match["high"]
    text = (directory / "evaluation.md").read_text("utf-8")
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 2 + len(matches)
    assert "equal share 25.0" in text
    assert {path.name for path in directory.iterdir()} == {"evaluation.json", "evaluation.md"}


def test_the_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers stand on the screen; without --players the game's own number sits down."""
    pair = ["--agents", "honest", "--against", "counter"]
    code = evaluate.main(["--variant", "russian", *pair, "--deals", "3"])
    printed = capsys.readouterr().out
    assert code == 0
    assert "russian, 4 seats" in printed and "equal share 75.0" in printed
    assert "3 x counter" in printed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"variant": "poker"}, "'poker'"),
        ({"players": "9"}, "num_players 9"),
        ({"players": "2"}, "num_players 2"),
        ({"players": "0"}, "num_players 0"),
        ({"players": "-1"}, "num_players -1"),
        ({"agents": "honset"}, "'honset'"),
        ({"against": "random honset"}, "'honset'"),
        ({"agents": "nowhere.zip"}, "'nowhere.zip'"),
        ({"agents": "honest(sly=1)"}, "'sly'"),
        ({"deals": "0"}, "--deals"),
        ({"seed": "-1"}, "--seed"),
        ({"seed": str(2**64)}, "seed"),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_bad_input_is_one_clear_line(
    options: dict[str, str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, a line on stderr that names the thing, and nothing is written."""
    code, directory = run(tmp_path / "out", **options)
    said = capsys.readouterr().err
    assert code == 2
    assert told in said
    assert said.count("\n") == 1
    assert not directory.exists()


@pytest.mark.parametrize("options", [{"deals": "many"}, {"players": "x"}, {"wings": "2"}])
def test_wrong_usage_is_exit_2(
    options: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no option, or no number, ends with exit 2 and the usage."""
    assert run(tmp_path, **options)[0] == 2
    assert "usage: python -m train.evaluate" in capsys.readouterr().err


def test_a_table_reader_sees_the_short_observation() -> None:
    """Each agent is given the layout that it says it reads, and its own mask."""

    class Sized(Fixed):
        def __init__(self, observation: str, size: int) -> None:
            self.observation, self.size = observation, size

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: Any) -> np.ndarray:
            assert observation.shape == (len(mask), self.size)
            assert (mask.sum(axis=1) > 0).all()
            return super().act(observation, mask, rng)

    tables = Tables("english", 3, observation="table")
    short = Sized("table", tables.layout.size)
    match = play_match("english", 3, short, Sized("memory", MEMORY.size), 3, 1)
    assert match.deals == 3
