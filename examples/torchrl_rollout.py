"""TorchRL: one policy plays all seats through PettingZooWrapper, and learns by masked PPO."""

import argparse

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, PettingZooWrapper, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import cheat_env

SEEN, MASK = ("agents", "observation", "observation"), ("agents", "action_mask")
CHOSEN = {name: ("agents", name) for name in ("action", "sample_log_prob")}
VALUED = ("reward", "done", "terminated", "value", "advantage", "value_target")


def main(arguments: list[str] | None = None) -> list[tuple[TensorDict, TensorDict]]:
    """Train as the command line says; return each rollout with the last figures of its update."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000, help="actions, in updates of 250")
    asked = parser.parse_args(arguments)
    torch.manual_seed(1)
    game = cheat_env.env("russian", 3, observation="memory")
    env = PettingZooWrapper(game, use_mask=True, group_map={"agents": game.possible_agents}, seed=1)
    env = TransformedEnv(env, DTypeCastTransform(torch.int8, torch.float32, [SEEN]))
    size, updates = env.observation_spec[SEEN].shape[-1], []
    actor = ProbabilisticActor(
        TensorDictModule(MLP(size, 46, num_cells=[128]), [SEEN], ["logits"]),
        in_keys={"logits": "logits", "mask": MASK},
        out_keys=[CHOSEN["action"]],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=CHOSEN["sample_log_prob"],
    )
    critic = TensorDictModule(MLP(size, 1, num_cells=[128]), [SEEN], [("agents", "value")])
    loss, gae = ClipPPOLoss(actor, critic), GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    for part, keys in ((gae, {}), (loss, CHOSEN)):
        part.set_keys(**keys, **{name: ("agents", name) for name in VALUED})
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    for rollout in Collector(env, actor, frames_per_batch=250, total_frames=asked.frames):
        gae(rollout)  # along each seat's own rewards, also those of another's move
        acted = rollout["agents"][rollout["agents", "mask"]]  # only one seat acts in a step
        for _ in range(4):
            found = loss(TensorDict(agents=acted, batch_size=acted.batch_size))
            optimizer.zero_grad()
            sum(v for name, v in found.items() if name.startswith("loss_")).backward()
            optimizer.step()
        deals, kl = rollout["next", "done"].sum(), found["kl_approx"]
        print(f"{len(acted)} decisions, {deals} deals ended; KL of the update {kl:.4f}")
        updates.append((rollout, found.detach()))
    return updates


if __name__ == "__main__":
    main()
