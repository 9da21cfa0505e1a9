"""Plays in words: a loop for any model, and the same model as an agent behind a program.

python examples/language_model.py        (the stand-in for a model answers by a rule)
"""

import re
import shlex
import sys

import numpy as np

import cheat_env
from agents import load
from cheat_env import text


def model(prompt: str) -> str:
    """Answer a prompt: challenge claims of three and more, else the first move, a true one first.

    A language model goes here; it may also answer `play 7 K` where the prompt lists no such move.
    """
    if ". challenge" in prompt and re.search(r"The last group, [3-9] x", prompt):
        return "challenge"
    return "1"


def serve() -> None:
    """Answer prompts on the standard input, each ended by an empty line, with a line each."""
    lines: list[str] = []
    for line in sys.stdin:
        lines.append(line)
        if not line.strip():
            print(model("".join(lines)), flush=True)
            lines = []


def main() -> None:
    """Seat 0 is asked in words here, seat 1 is the same model as a program, the rest are rules."""
    env = cheat_env.raw_env("russian", num_players=4, observation="memory")
    env.reset(seed=7)
    program = shlex.join([sys.executable, __file__, "--serve"])
    others = [load(f"llm(command={program!r}, timeout=10)"), load("counter"), load("honest")]
    rng, deck = np.random.default_rng(0), env.tables.deck
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        seat = env.possible_agents.index(env.agent_selection)
        seen, mask = env.observe(env.agent_selection).values()
        if seat == 0:
            actions = text.parse(model(text.prompt(seen, mask, deck)), seen, mask, deck)
        else:
            actions = others[seat - 1].act(seen[None], mask[None], rng).tolist()
        for action in actions:
            env.step(action)
    print(text.paragraph(env.observe("player_0")["observation"], deck))
    print(f"rewards: {env.rewards}; answers refused: {others[0].fallbacks}")


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
