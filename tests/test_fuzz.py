"""Bad input of every kind: one clear line or a documented exception, and nothing half-written.

Every input is a mutation of a good one (`fuzzing`); FUZZ_SEED in the environment tries others. What
is good by chance must simply work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import RECORDS
from fuzzing import counts, generators, mutated_bytes, mutated_document, mutated_text

import cheat_env
from agents import AgentError, load, shipped
from cheat_env import IllegalAction, RulesError, Tables
from cheat_env import __main__ as cheat_cli
from train import __main__ as train_cli
from train import evaluate, exact, exploit
from train.command import CONFIGS
from train.evaluate import ONE_VS_REST, plan
from train.networks import new_model
from train.run import Run

#: Kinds of fuzzing among which the number of inputs is divided.
KINDS = 8
FILES = sorted(RECORDS.rglob("*.yaml"))
WORDS = (
    *("--variant", "--players", "--agents", "--against", "--deals", "--seed", "--workers", "--out"),
    *("--rules", "--format", "--budget", "--target", "--start", "--config", "--agent", "--merged"),
    *("english", "russian", "honest", "counter(lie=2)", "random()", "mixed", "round-robin", "4"),
    *("0", "-1", "99", "1e9", "nan", "", "x.zip", "x.npz", "/", "{base: english}", "{", "a=b"),
    *("jokers=2", "deck=", "miniature.yaml", "smoke.yaml", "memory", "search(worlds=0)"),
)


def one_line(said: str) -> None:
    """Assert that a command said one line of error, or argparse its usage, and no traceback."""
    assert "Traceback" not in said
    lines = said.strip().splitlines()
    assert lines and (len(lines) == 1 or lines[0].startswith("usage: ")), said


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
@pytest.mark.parametrize("number", counts(KINDS))
def test_records(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mutated record replays, has faults, or is malformed, and the line names its file."""
    path = tmp_path / "game.yaml"
    for rng in generators(number, 1):
        text = FILES[rng.integers(len(FILES))].read_text("utf-8")
        if rng.random() < 0.5:
            text = mutated_text(text, rng)
        else:
            changed = mutated_document(yaml.safe_load(text), rng)
            text = yaml.safe_dump(changed, allow_unicode=True)
        path.write_text(text, "utf-8")
        code = cheat_cli.main(["replay", str(path)])
        printed = capsys.readouterr()
        assert code in (0, 1, 2)
        if code == 2:
            one_line(printed.err)
            assert str(path) in printed.err
        else:
            assert printed.err == "" and bool(printed.out) == (code == 1)


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
@pytest.mark.parametrize("number", counts(KINDS))
def test_configs(
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mutated config is refused in a line before anything is written, or would train."""
    monkeypatch.setattr(Run, "train", lambda _: False)
    good = yaml.safe_load((CONFIGS / "smoke.yaml").read_text("utf-8"))
    good |= {"opponents": {"fixed": ["honest"], "random_rules": 0.2}, "name": "x"}
    good["learner"] |= {"tables": 8, "steps": 4, "hidden": [8], "threads": 1}
    good["output"] = {"directory": str(tmp_path / "runs"), "tensorboard": False}
    path = tmp_path / "a.yaml"
    for i, rng in enumerate(generators(number, 2)):
        text = yaml.safe_dump(good, sort_keys=False)
        if rng.random() < 0.4:
            text = mutated_text(text, rng)
        else:
            text = yaml.safe_dump(mutated_document(good, rng), sort_keys=False)
        path.write_text(text, "utf-8")
        words = ["--config", str(path), f"--output.directory={tmp_path}/runs{i}"]
        code = _exit_code(lambda words=words: train_cli.main(words))
        printed = capsys.readouterr()
        assert code in (2, 130), (text, printed)
        if code == 2:
            one_line(printed.err)
            assert not (tmp_path / f"runs{i}").exists(), text


@pytest.mark.filterwarnings("ignore::cheat_env.RulesWarning")
@pytest.mark.parametrize("number", counts(KINDS))
def test_rules(number: int) -> None:
    """Mutated house rules are a game that can be dealt, or `RulesError` in one line."""
    names = cheat_env.variants()
    for rng in generators(number, 3):
        rules = cheat_env.Rules.load(names[rng.integers(len(names))])
        changed = mutated_document(rules.as_options(), rng)
        try:
            Tables(changed, num_tables=2)
        except RulesError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("number", counts(KINDS))
def test_command_lines(
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Words in any order are refused with exit 2, or asked for something that can be done."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate, "evaluate", _not_played)
    monkeypatch.setattr(exploit, "exploit", _not_played)
    monkeypatch.setattr(exact, "write_out", _not_played)
    monkeypatch.setattr(Run, "train", lambda _: False)
    commands = (evaluate.main, exploit.main, exact.main, train_cli.main, cheat_cli.main)
    for rng in generators(number, 4):
        words = [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 9))]
        words = [mutated_text(word, rng) if rng.random() < 0.1 else word for word in words]
        command = commands[rng.integers(len(commands))]
        code = _exit_code(lambda command=command, words=words: command(words))
        printed = capsys.readouterr()
        assert code in (0, 1, 2, 130), words
        if code == 2:
            one_line(printed.err)


def _exit_code(run: Any) -> Any:
    """Return what a command returns or exits with."""
    try:
        return run()
    except SystemExit as ended:
        return ended.code or 0


def _not_played(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("number", counts(KINDS))
@pytest.mark.filterwarnings("ignore")
def test_models(number: int, tmp_path: Path) -> None:
    """A mutated model file is refused in one line that names it, or still plays."""
    tables = Tables("english", 4, 8)
    model = new_model("memory", (8, 8), 0)
    model.save(tmp_path / "good.zip")
    agent = load(str(tmp_path / "good.zip"))
    shipped.save(tmp_path / "good.npz", "memory", agent.arrays(), {})
    for rng in generators(number, 5):
        suffix = (".zip", ".npz")[rng.integers(2)]
        path = tmp_path / f"bad{suffix}"
        path.write_bytes(mutated_bytes((tmp_path / f"good{suffix}").read_bytes(), rng))
        try:
            player = load(str(path))
        except AgentError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            continue
        actions = player.act(tables.observation, tables.action_mask, rng)
        assert tables.action_mask[np.arange(8), actions].all()


BAD_ACTIONS = (
    *(-1, 46, 47, 2**31, -(2**63), 0.5, float("nan"), "0", None, [], [0], (), {}, True),
    *(np.float32(3), np.int64(99), np.array([1, 2]), np.array(np.nan), np.bool_(True), object()),
)


@pytest.mark.parametrize("number", counts(KINDS))
def test_actions_of_the_environment(number: int) -> None:
    """An action that is none changes nothing: `IllegalAction`, and the game goes on as it was."""
    env = cheat_env.raw_env("russian", num_players=3)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for generator in generators(number, 6):
        observation, _, over, truncated, _ = env.last()
        if over or truncated:
            env.reset(seed=int(generator.integers(1000)))
            continue
        mask = observation["action_mask"]
        before = env.unwrapped.tables.state.tobytes(), env.agent_selection
        bad = [*BAD_ACTIONS, *map(int, np.flatnonzero(mask == 0))]
        action = bad[generator.integers(len(bad))]
        with pytest.raises(IllegalAction) as refused:
            env.step(action)
        assert "\n" not in str(refused.value)
        assert before == (env.unwrapped.tables.state.tobytes(), env.agent_selection)
        env.step(int(rng.choice(np.flatnonzero(mask))))


@pytest.mark.parametrize("number", counts(KINDS))
def test_actions_of_tables(number: int) -> None:
    """Arrays of another shape, type or meaning change no table."""
    tables, player = Tables("english", 4, 6, seed=1), load("random")
    for rng in generators(number, 7):
        good = player.act(tables.observation, tables.action_mask, rng)
        before = tables.state.tobytes()
        wrong = good.copy()
        wrong[rng.integers(6)] = rng.choice(np.flatnonzero(tables.action_mask[0] == 0).clip(17))
        bad: list[Any] = [
            *(good[:5], good.astype(float), good.astype(bool), good[None], good.astype(str)),
            *(np.full(6, -1), np.full(6, 46), np.full(6, 2**62), np.full(6, np.nan), [], None, 3),
            *(np.array(good, object), np.where(np.arange(6) == rng.integers(6), 99, good)),
        ]
        with pytest.raises(IllegalAction) as refused:
            tables.step(bad[rng.integers(len(bad))])
        assert "\n" not in str(refused.value)
        assert before == tables.state.tobytes()
        tables.step(good)


class Nonsense:
    """An agent that returns what the generator says."""

    name, observation = "nonsense", "table"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
        """Return nonsense."""
        return self.answer(len(observation))


@pytest.mark.parametrize("number", counts(KINDS))
def test_agents_that_return_nonsense(number: int) -> None:
    """An evaluation names the agent and ends; nothing is silently replaced."""
    asked = plan(ONE_VS_REST, ["english"], [3], ["nonsense"], ["honest"], 1, 1)
    answers = (
        *(lambda n: np.full(n, 46), lambda n: np.full(n, -1), lambda n: np.full(n, np.nan)),
        *(
            lambda n: np.zeros(n + 1, int),
            lambda n: None,
            lambda n: "a",
            lambda n: np.zeros(n, "S"),
        ),
        *(lambda n: [[0]] * n, lambda n: np.full(n, 2**70, object), lambda n: np.full(n, 0.5)),
    )
    for rng in generators(number, 8):
        agent = Nonsense(answers[rng.integers(len(answers))])
        with pytest.raises(IllegalAction, match="nonsense") as refused:
            evaluate.evaluate(asked, {"nonsense": agent, "honest": load("honest")})
        assert "\n" not in str(refused.value)
