"""The player that asks a program: whole turns, refusals, and programs that fail."""

from __future__ import annotations

import gc
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from positions import hand, place, position

from agents import AgentError, load
from agents.base import ask
from agents.llm import LanguageAgent
from cheat_env import Tables
from cheat_env.actions import ANNOUNCE_RANK, DISCARD, LAY
from cheat_env.state import OVER

#: Notes each text that it is asked, answers `answer(text)`, and says good-bye to a file.
PROGRAM = """
import sys
def answer(text):
    {body}
lines = []
for line in sys.stdin:
    lines.append(line)
    if not line.strip():
        with open({log!r}, "a") as file:
            file.write(repr("".join(lines)) + "\\n")
        print(answer("".join(lines)), flush=True)
        lines = []
with open({log!r}, "a") as file:
    file.write("bye\\n")
"""
#: Lays two cards where it may, else answers by the first number.
TWO = """hand = text.partition("You hold: ")[2].split(".")[0].split()
    free = " as " + hand[0] if "as RANK" in text else ""
    return "play " + " ".join(hand[:2]) + free if "Allowed: play" in text else "1"
"""


class Script:
    """A program that is written to a file, and what it was asked."""

    def __init__(self, path: Path, body: str) -> None:
        self.log = path / "asked.txt"
        script = path / "model program.py"
        script.write_text(PROGRAM.format(body=body, log=str(self.log)), "utf-8")
        self.command = shlex.join([sys.executable, str(script)])

    def agent(self, **settings: Any) -> LanguageAgent:
        """Return the agent that asks it."""
        told = "".join(f", {name}={value!r}" for name, value in settings.items())
        agent = load(f"llm(command={self.command!r}{told})")
        assert isinstance(agent, LanguageAgent)
        return agent

    def asked(self) -> list[str]:
        """Return what it was asked so far."""
        return self.log.read_text("utf-8").splitlines() if self.log.is_file() else []


def act(agent: LanguageAgent, env: Any, seed: int = 0) -> None:
    """Let an agent take one action for the seat to act."""
    found = env.observe(env.agent_selection)
    rows = found["observation"][None], found["action_mask"][None]
    env.step(int(ask(agent, *rows, np.random.default_rng(seed))[0]))


@pytest.mark.parametrize("variant", ["english", "russian", "mogeln"])
def test_one_answer_is_one_turn(variant: str, tmp_path: Path) -> None:
    """The program is asked once a turn at many tables, and no rest of a turn is left over."""
    script = Script(tmp_path, "return '1'")
    agent, honest = script.agent(), load("honest")
    tables = Tables(variant, 3, 4, seed=1, auto_reset=False, max_plays=12)
    rng, answered = np.random.default_rng(0), 0
    for _ in range(150):
        mine = (tables.seat == 0) & (tables.state["phase"] != OVER)
        actions = honest.act(tables.observation, tables.action_mask, rng)
        if mine.any():
            actions[mine] = ask(agent, tables.observation[mine], tables.action_mask[mine], rng)
        ends = (actions == LAY) | ((actions > LAY) & (actions < ANNOUNCE_RANK))
        answered += int((mine & (ends | (actions >= DISCARD))).sum())
        tables.step(actions)
    assert (tables.state["phase"] == OVER).all()
    assert len(script.asked()) == answered > 10
    assert agent.fallbacks == 0
    assert not agent._rests


def test_what_is_said_is_laid(tmp_path: Path) -> None:
    """A whole turn with a rank of one's own choice, lying."""
    script = Script(tmp_path, "return '9 7 as K'")
    agent = script.agent()
    env = place(
        position(["7 7 9 K", "10 9 J", "Q A 6"], 0, None, variant="russian"), observation="memory"
    )
    for _ in range(4):
        act(agent, env)
    assert hand(env, 0) == "7 K"
    assert env.agent_selection == "player_1"
    assert len(script.asked()) == 1


def test_equal_tables_each_play_a_whole_turn(tmp_path: Path) -> None:
    """Tables that show the same are asked one by one, and none loses its turn's rest."""
    script = Script(tmp_path, TWO)
    agent, rng = script.agent(), np.random.default_rng(0)
    tables = Tables("english", 3, 3, seed=1, auto_reset=False)
    tables.reset(numbers=0)
    seat = int(tables.seat[0])
    for _ in range(3):
        tables.step(ask(agent, tables.observation, tables.action_mask, rng))
    assert tables.state["group_size"].tolist() == [2, 2, 2]
    assert (tables.state["claimant"] == seat).all()
    assert len(script.asked()) == 3


def test_a_refusal_is_told_once_and_then_a_rule_plays(tmp_path: Path) -> None:
    """The second answer counts; if it is refused too `honest` plays the turn, all of it."""
    start = position(["7 7 3 K", "4 9 J", "2 5 6"], 0, "7")
    (tmp_path / "a").mkdir()
    script = Script(tmp_path, "return 'K 3' if 'Refused' in text else 'play 4'")
    agent, env = script.agent(), place(start, observation="memory")
    for _ in range(3):
        act(agent, env)
    assert (hand(env, 0), agent.fallbacks) == ("7 7", 0)
    first, second = script.asked()
    assert "Moves:" in first
    assert "Refused: 'play 4': you hold no 4; allowed: play 1 to 4 cards of yours as 7" in second
    script = Script(tmp_path / "a", "return 'no idea'")
    agent, env = script.agent(), place(start, observation="memory")
    for _ in range(3):
        act(agent, env)
    assert (hand(env, 0), agent.fallbacks) == ("3 K", 1)
    assert len(script.asked()) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import time; time.sleep(60)", "no answer within 0.5 s"),
        ("sys.exit(3)", "ended with status 3"),
    ],
)
def test_a_program_that_fails_is_one_line(body: str, told: str, tmp_path: Path) -> None:
    """It names the agent and says what happened."""
    timeout = 0.5 if "sleep" in body else 30
    agent = Script(tmp_path, body).agent(timeout=timeout)
    env = place(position(["7 7", "4 9", "2 5"], 0, "7"), observation="memory")
    with pytest.raises(AgentError) as caught:
        act(agent, env)
    assert told in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(AgentError, match="ended with status"):
        act(agent, env)


def test_a_program_is_started_when_it_is_needed_and_ended(tmp_path: Path) -> None:
    """Loading starts nothing; where the agent goes, so does the program."""
    missing = load("llm(command='/no/such/program')")
    env = place(position(["7 7", "4 9", "2 5"], 0, "7"), observation="memory")
    with pytest.raises(AgentError, match=r"can't be started: .*/no/such/program"):
        act(missing, env)
    script = Script(tmp_path, "return '1'")
    agent = script.agent()
    assert script.asked() == []
    act(agent, env)
    del agent
    gc.collect()
    assert script.asked()[-1] == "bye"


@pytest.mark.parametrize(
    "name",
    [
        "llm",
        "llm()",
        "llm('python a.py')",
        "llm(command='')",
        "llm(command=3)",
        "llm(command='\"')",
        "llm(command='a', timeout=0)",
        "llm(command='a', timeout=True)",
        "llm(command='a', timeout='b')",
        "llm(command='a', deck='Z')",
        "llm(command='a', worlds=3)",
        "llm(command=open('a'))",
        "llm(command='a'",
    ],
)
def test_bad_settings_are_refused(name: str) -> None:
    """In one line that names the agent; nothing in parentheses is run."""
    with pytest.raises(AgentError) as caught:
        load(name)
    assert "agent " in str(caught.value) and "\n" not in str(caught.value)


def test_house_rules_need_a_deck(tmp_path: Path) -> None:
    """Where the observation shows no published game, the names of the ranks must be told."""
    tables, rng = Tables("english", 3, jokers=1), np.random.default_rng(0)
    script = Script(tmp_path, "return '1'")
    with pytest.raises(AgentError, match="deck='A-K'"):
        ask(script.agent(), tables.observation, tables.action_mask, rng)
    agent = script.agent(deck="A-K")
    ask(agent, tables.observation, tables.action_mask, rng)
    assert len(script.asked()) == 1
