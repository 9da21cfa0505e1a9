"""Plays random legal actions against rules: one match told step by step, then many tables at once.

python examples/gymnasium_random.py
"""

import gymnasium
import numpy as np

import cheat_env  # noqa: F401  (it registers the environment)

NAME = "cheat_env/Cheat-v0"
GAME = {"variant": "russian", "num_players": 4, "opponents": ["honest", "counter", "random"]}


def main() -> None:
    """Play both."""
    env = gymnasium.make(NAME, render_mode="ansi", **GAME)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        print(env.render(), end="\n\n")
        action = env.action_space.sample(info["action_mask"])
        _, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    print(f"seat {info['seat']}: reward {reward:+.2f}, match won: {info['match_won']}\n")

    envs = gymnasium.make_vec(NAME, num_envs=64, **GAME)
    _, infos = envs.reset(seed=1)
    won = []
    while len(won) < 200:
        *_, infos = envs.step(envs.action_space.sample(mask=tuple(infos["action_mask"])))
        if "final_info" in infos:
            won += infos["final_info"]["match_won"][infos["_final_info"]].tolist()
    print(f"won {np.mean(won):.0%} of {len(won)} matches")


if __name__ == "__main__":
    main()
