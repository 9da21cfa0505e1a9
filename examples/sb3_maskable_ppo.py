"""Trains sb3-contrib's MaskablePPO against a rule, and tells what it earns from that and others.

python examples/sb3_maskable_ppo.py [DECISIONS]
"""

import sys

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from agents.vec_env import CheatVecEnv

GAME = {"variant": "russian", "num_players": 4}
TABLES = 64


def reward_against(model: MaskablePPO, opponent: str) -> float:
    """Return what a model earns in a match against three copies of an opponent, on average."""
    env = VecMonitor(CheatVecEnv(TABLES, opponents=opponent, **GAME))
    env.seed(1)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=2 * TABLES)
    return float(mean)


def main(decisions: int) -> None:
    """Train, and evaluate before and after."""
    env = VecMonitor(CheatVecEnv(TABLES, opponents="counter", **GAME))
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=1024,
        gamma=1.0,  # a match is paid at its end, however long it takes
        gae_lambda=0.98,
        seed=1,
        device="cpu",
    )
    panel = ("random", "honest", "counter")
    before = [reward_against(model, opponent) for opponent in panel]
    model.learn(decisions)
    print("reward of a match (an equal player: 0)  untrained  trained")
    for opponent, untrained in zip(panel, before, strict=True):
        trained = reward_against(model, opponent)
        print(f"  against three of {opponent:20}  {untrained:+9.2f}  {trained:+7.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
