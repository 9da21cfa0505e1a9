"""Players of the games: heuristics and trained models, by name.

from agents import load

player = load("honest_guard")
actions = player.act(tables.observation, tables.action_mask, rng)
"""

from agents.base import Agent, AgentError
from agents.registry import NAMES, load

__all__ = ["NAMES", "Agent", "AgentError", "load"]
