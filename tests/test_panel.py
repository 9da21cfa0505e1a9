"""The panel of a training, the best model by its worst result, and the snapshots on the way."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from test_train_cli import train, words

from agents import load
from train.command import parse
from train.config import Config, Evaluation, Game
from train.networks import new_model
from train.panel import Panel, score


def panel_rows(run: Path) -> list[dict[str, str]]:
    """Return the rows of a run's panel."""
    with (run / "panel.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_panel_is_asked_as_often_as_the_config_says(tmp_path: Path) -> None:
    """One row for each multiple of `every` that was passed; the score is the least of its row."""
    assert train(*words(tmp_path, decisions=5000)) == 0
    rows = panel_rows(tmp_path / "english")
    assert [int(row["decisions"]) // 1000 for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert {*row} == {"decisions", "seconds", "score", "dumper", "honest"}
        assert float(row["score"]) == min(float(row["dumper"]), float(row["honest"]))


def test_the_best_model_is_kept_beside_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """best.zip is what the policy was at its best worst result, the first of equal ones."""
    results, weights = iter([0.2, 0.7, 0.7, 0.5, 0.1]), []

    def measure(_: Panel, policy: Any) -> dict[str, float]:
        weights.append(policy.state_dict()["action_net.weight"].clone())
        return {"dumper": next(results), "honest": 1.0}

    monkeypatch.setattr(Panel, "measure", measure)
    assert train(*words(tmp_path, decisions=5000)) == 0
    best, last = (
        load(str(tmp_path / "english" / name)).policy.state_dict()["action_net.weight"]
        for name in ("best.zip", "model.zip")
    )
    assert (best == weights[1]).all() and not (best == last).all()
    assert [row["score"] for row in panel_rows(tmp_path / "english")] == [
        "0.2",
        "0.7",
        "0.7",
        "0.5",
        "0.1",
    ]


def test_a_resumed_run_knows_its_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was best before the stop stays best until something is better."""
    monkeypatch.setattr(Panel, "measure", lambda *_: {"dumper": 0.9})
    assert train(*words(tmp_path, decisions=1500)) == 0
    run = tmp_path / "english"
    before = (run / "best.zip").read_bytes()
    monkeypatch.setattr(Panel, "measure", lambda *_: {"dumper": 0.8})
    assert train("--resume", str(run), "--learner.total_decisions=2500") == 0
    assert (run / "best.zip").read_bytes() == before
    assert [row["score"] for row in panel_rows(run)] == ["0.9", "0.8"]


def test_a_run_without_a_panel_has_no_best(tmp_path: Path) -> None:
    """`every: 0` asks no panel and keeps no best model."""
    assert train(*words(tmp_path, "--evaluation.every=0", decisions=1500)) == 0
    assert not (tmp_path / "english" / "best.zip").exists()
    assert not panel_rows(tmp_path / "english")


def test_snapshots_are_agents(tmp_path: Path) -> None:
    """One model for each multiple of `snapshots_every`; a later training sits down with them."""
    often = "--output.snapshots_every=1000"
    assert train(*words(tmp_path, often, decisions=2500)) == 0
    snapshots = sorted((tmp_path / "english" / "snapshots").iterdir())
    assert [int(path.stem) // 1000 for path in snapshots] == [1, 2]
    league = f"--opponents.agents=[{', '.join(map(str, snapshots))}]"
    shares = ["--opponents.agent_share=0.5", "--opponents.late_agent_share=0.3"]
    assert train(*words(tmp_path, "--name=finish", league, *shares, decisions=500)) == 0


def test_the_panel_names_game_and_seats_where_there_are_several() -> None:
    """One opponent is one result; over several games each has its own."""
    asked = Evaluation(panel=("dumper", "honest"), panel_deals=1)
    assert Panel(Config(evaluation=asked)).names == ["dumper", "honest"]
    several = Game(variants=("english", "russian"), num_players=(2, 3, 3))
    assert Panel(Config(evaluation=asked, game=several)).names == [
        "dumper english 3",
        "honest english 3",
        "dumper russian 2",
        "honest russian 2",
        "dumper russian 3",
        "honest russian 3",
    ]


def test_the_exploitability_of_the_miniature_is_a_result() -> None:
    """With `exact` it is measured, and the least of it is best; an untrained policy is near 0.8."""
    config, _ = parse(["--config", "miniature.yaml", "--evaluation.panel=[]"])
    panel = Panel(config)
    found = panel.measure(new_model("memory", (8,), 0).policy)
    assert found == {"exploitability": pytest.approx(0.8026, abs=0.05)}
    assert score(found) == -found["exploitability"] < score({"exploitability": 0.1})


def test_results_are_in_equal_shares() -> None:
    """An untrained policy takes from none to all of the wins: 0 to 4 equal shares."""
    panel = Panel(Config(evaluation=Evaluation(panel=("random",), panel_deals=2)))
    found = panel.measure(new_model("memory", (8,), 0).policy)
    assert found.keys() == {"random"} and 0 <= found["random"] <= 4
