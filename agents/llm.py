"""`llm`: plays what a program answers in words, such as a language model behind a script.

The program is started at the first decision, without a shell, and asked on its standard input: a
prompt (see `cheat_env.text`) of several lines, ended by an empty one. It answers with one line on
its standard output, flushed. An answer that is refused is told back once, in one line and an empty
one, and it may answer again; then `honest` plays the turn. What it writes to its standard error is
shown. When its standard input ends it should end too; it is killed where the agent goes.
"""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent, AgentError
from cheat_env import actions as act
from cheat_env.cards import JOKER, CardError, parse_deck
from cheat_env.seen import Seen
from cheat_env.text import AnswerError, deck_of, parse, prompt

#: Seconds for an answer, and the most that may be asked for.
TIMEOUT, MOST_SECONDS = 60.0, 86_400.0
#: What is known of a turn's rest: actions to come; None: the rule that took it over goes on.
Rest = list[int] | None


class Program:
    """A running program that answers a text with a line.

    Args:
        command: its words.
        who: how errors call it.

    Raises `AgentError` where it can't be started.
    """

    def __init__(self, command: list[str], who: str) -> None:
        self._who = who
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except (OSError, ValueError) as error:
            raise AgentError(f"{who}: can't be started: {error}") from None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(self._process, self._lines), daemon=True)
        reader.start()
        self.kill = weakref.finalize(self, _kill, self._process)

    def ask(self, text: str, timeout: float) -> str:
        """Return the line that answers a text; raises `AgentError` where none comes in time."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(text + "\n\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            raise AgentError(f"{self._who}: no answer within {timeout:g} s") from None
        except (OSError, ValueError):  # it, or a call before, closed the pipe
            line = None
        if line is None:
            self.kill()
            raise AgentError(f"{self._who}: ended with status {self._process.returncode}")
        return line


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Pass a program's lines on, and None where it writes no more."""
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):
        for line in process.stdout:
            lines.put(line.strip())
    lines.put(None)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a program that has a moment to end by itself once its input is closed."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    process.kill()
    process.wait()


class LanguageAgent:
    """Asks a program once a turn, and plays the turn that it answers action by action.

    An agent acts pick by pick and is not told whose table a row is of. So the rest of a turn is
    kept by what its seat will see next: nothing but its own announcement and picks happens within a
    turn. Where several tables show the same, they take the turns kept for them in order.

    Args:
        name: how it is called in tables.
        rule: who plays a turn for which no answer was accepted.
        command: the program and its arguments, as a shell would split them.
        timeout: seconds for an answer.
        deck: the ranks, like "A-K"; None: of the published game that the observation shows.

    Attributes:
        fallbacks: turns that the rule played so far.

    Raises `AgentError` where an argument is none; so does `act` where the program can't be started,
    ends, or is late, or where the game is none of the published and no deck was given.
    """

    observation = "memory"

    def __init__(
        self,
        name: str,
        rule: Agent,
        command: Any = None,
        timeout: Any = TIMEOUT,
        deck: str | None = None,
    ) -> None:
        self.name = name
        self.fallbacks = 0
        self._rule = rule
        try:
            self._command = shlex.split(command) if isinstance(command, str) else []
            self._deck = None if deck is None else parse_deck(str(deck))
        except CardError as error:
            raise AgentError(f"agent {name!r}: {error}") from None
        except ValueError as error:
            raise AgentError(f"agent {name!r}: command={command!r}: {error}") from None
        if not self._command:
            raise AgentError(f"agent {name!r}: give it command='PROGRAM ARGUMENT ...'")
        number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not number or not 0 < timeout <= MOST_SECONDS:
            raise AgentError(
                f"agent {name!r}: timeout={timeout!r}: must be a number of seconds above 0, at most"
                f" {MOST_SECONDS:g}"
            )
        self._timeout = float(timeout)
        self._program: Program | None = None
        self._rests: dict[bytes, deque[Rest]] = {}

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        actions = np.zeros(len(observation), np.int64)
        for i, (row, mask) in enumerate(zip(observation, action_mask, strict=True)):
            actions[i] = self._decide(row, mask, rng)
        return actions

    def _decide(
        self, row: NDArray[np.int8], mask: NDArray[np.int8], rng: np.random.Generator
    ) -> int:
        try:
            seen = Seen(row, self._deck or deck_of(row))
        except ValueError as error:
            raise AgentError(f"agent {self.name!r}: {error}: say deck='A-K'") from None
        rest = self._kept(_key(seen), mask)
        if rest == []:
            rest = self._answer(row, mask, seen)
        if rest is None:
            action = int(self._rule.act(row[None], mask[None], rng)[0])
        else:
            action, *rest = rest
        announces = act.ANNOUNCE_RANK <= action < act.DISCARD and rest != []
        if action < act.LAY or announces:
            self._rests.setdefault(_key(seen, action), deque()).append(rest)
        return action

    def _kept(self, key: bytes, mask: NDArray[np.int8]) -> Rest:
        """Return the rest of a turn that is kept by a key, and forget it; [] where none is."""
        kept = self._rests.get(key)
        if not kept:
            return []
        rest = kept.popleft()
        if not kept:
            del self._rests[key]
        return rest if rest is None or mask[rest[0]] else []

    def _answer(self, row: NDArray[np.int8], mask: NDArray[np.int8], seen: Seen) -> Rest:
        """Return the actions of the turn that the program answers, None if it is refused twice."""
        if self._program is None:
            self._program = Program(self._command, f"agent {self.name!r}")
        text = prompt(row, mask, seen.deck)
        for _ in range(2):
            try:
                return parse(self._program.ask(text, self._timeout), row, mask, seen.deck)
            except AnswerError as error:
                text = f"Refused: {error}. Answer again."
        self.fallbacks += 1
        return None


def _key(seen: Seen, action: int | None = None) -> bytes:
    """Return what tells a seat's decision from others, as it is or once it has taken an action.

    Within a turn only the rank in force and the cards picked change.
    """
    rank, in_force, picked = seen.rank, seen.in_force, seen.picked.copy()
    if action is not None and action >= act.ANNOUNCE_RANK:
        rank, in_force = (seen.base + action - act.ANNOUNCE_RANK) % len(seen.deck), True
    elif action is not None:
        joker = action == act.PICK_JOKER
        picked[JOKER if joker else (seen.base + action - act.PICK) % len(seen.deck)] += 1
    fields = ("pile_size", "hand_sizes", "out", "scores", "players", "tallies")
    parts = [seen.hand, picked, np.array([rank, in_force]), *(seen.fields[f] for f in fields)]
    return b"".join(part.tobytes() for part in parts)
