"""Tianshou: one masked deep Q-network plays all seats through PettingZooEnv, and learns."""

import argparse

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

import cheat_env


def table() -> PettingZooEnv:
    """Return a table of three in Tianshou's dress."""
    return PettingZooEnv(cheat_env.env("russian", 3, observation="memory", max_plays=100))


def main(arguments: list[str] | None = None) -> tuple[Net, VectorReplayBuffer, list[float]]:
    """Train as the command line says; return the network, what was played, and the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of play and learning in turn")
    parser.add_argument("--deals", type=int, default=4, help="deals in a round")
    asked = parser.parse_args(arguments)
    torch.manual_seed(1)
    np.random.seed(1)  # Tianshou explores by NumPy's global generator
    env, tables = table(), DummyVectorEnv([table] * 4)
    size, n = env.observation_space["observation"].shape, env.action_space.n
    network = Net(state_shape=size, action_shape=n, hidden_sizes=[128])
    # The policies of several agents explore by eps_inference in training too (Tianshou 2.0.1).
    epsilon = {"eps_training": 0.3, "eps_inference": 0.3}
    policy = DiscreteQLearningPolicy(model=network, action_space=env.action_space, **epsilon)
    # The next observation in the buffer is another seat's and nothing to bootstrap from: returns
    # reach to the end of the deal, where every seat is paid its own.
    adam = AdamOptimizerFactory(lr=1e-3)
    dqn = DQN(policy=policy, optim=adam, gamma=0.99, n_step_return_horizon=400)
    seats = MultiAgentOffPolicyAlgorithm(algorithms=[dqn] * 3, env=env)
    buffer, losses = VectorReplayBuffer(20_000, len(tables)), []
    collector = Collector(seats, tables, buffer, exploration_noise=True)
    tables.seed(1)
    collector.reset()
    for _ in range(asked.rounds):
        with policy_within_training_step(seats.policy):
            steps = collector.collect(n_episode=asked.deals).n_collected_steps
            found = [seats.update(buffer, 128).get_loss_stats_dict() for _ in range(10)]
        losses += [float(np.mean(list(loss.values()))) for loss in found]
        print(f"{asked.deals} deals, {steps} actions; loss {np.mean(losses[-10:]):.3f}")
    return network, buffer, losses


if __name__ == "__main__":
    main()
