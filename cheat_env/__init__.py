"""Cheat: the bluffing card games of the Cheat family as reinforcement-learning environments.

    from cheat_env import env, Tables

    game = env("russian", num_players=4)          # PettingZoo AEC
    tables = Tables("english", 4, num_tables=1024)  # many tables at once

The games are `english` ("I Doubt It"), `marquoir` (Marquoir Cheat) and `russian` (Verish' ne
Verish'); every rule option can be changed by keyword.
"""

import gymnasium
from pettingzoo import register

from cheat_env.aec import raw_env
from cheat_env.checked import env, parallel_env
from cheat_env.checks import RulesError
from cheat_env.rules import Rules, RulesWarning, variants
from cheat_env.tables import IllegalAction, Tables
from cheat_env.version import __version__

__all__ = [
    "IllegalAction",
    "Rules",
    "RulesError",
    "RulesWarning",
    "Tables",
    "__version__",
    "env",
    "parallel_env",
    "raw_env",
    "variants",
]

register("aec", "cheat_env/cheat-v0", env)
register("parallel", "cheat_env/cheat-v0", parallel_env)
gymnasium.register(
    "cheat_env/Cheat-v0",
    entry_point="agents.gym_env:CheatEnv",
    vector_entry_point="agents.gym_env:CheatVectorEnv",
)
