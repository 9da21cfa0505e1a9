"""Trained models as agents, and their network; the only room here that needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.base import AgentError
from cheat_env import observations as obs
from cheat_env.actions import NUM_ACTIONS

#: Logits of masked actions.
MASKED = -1e8
#: The value that a network starts from: this much for every 13 cards that a seat holds fewer than
#: the mean of the others. Without it, self-play begins in games that never end.
VALUE_PRIOR = 0.5
PRIOR_CARDS = 13.0


class Torso(BaseFeaturesExtractor):
    """Scaled observation, dense layers for policy and value, and the value prior as a feature.

    Args:
        observation_space: Box of int8 (D,), `table` or `memory`.
        hidden: widths of the layers.
    """

    def __init__(self, observation_space: gymnasium.spaces.Box, hidden: tuple[int, ...]) -> None:
        super().__init__(observation_space, hidden[-1] + 1)
        size = observation_space.shape[0]
        scale = obs.MEMORY.per_number("scale")[:size].astype(np.float32)
        self.register_buffer("scale", torch.from_numpy(1 / scale), persistent=False)
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(size, width), nn.ReLU()]
            size = width
        self.layers = nn.Sequential(*layers)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return features (n, hidden + 1) of observations (n, D)."""
        features = self.layers(observation * self.scale)
        return torch.cat((features, self._prior(observation)), dim=1)

    @staticmethod
    def _prior(observation: torch.Tensor) -> torch.Tensor:
        players = observation[:, obs.AT_PLAYERS]
        hands = observation[:, obs.AT_HAND_SIZES : obs.AT_HAND_SIZES + obs.MAX_SEATS]
        own = hands[:, 0]
        others = (hands.sum(dim=1) - own) / (players - 1).clamp(min=1)
        return (VALUE_PRIOR * (others - own) / PRIOR_CARDS)[:, None]


class CheatPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's maskable policy on a `Torso`: one linear head each for actions and value."""

    def __init__(self, *args: Any, hidden: tuple[int, ...] = (256, 256), **kwargs: Any) -> None:
        self.hidden = tuple(hidden)
        kwargs |= {
            "net_arch": [],
            "features_extractor_class": Torso,
            "features_extractor_kwargs": {"hidden": self.hidden},
        }
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        with torch.no_grad():
            self.value_net.weight.zero_()
            self.value_net.weight[0, -1] = 1.0
            self.action_net.weight[:, -1] = 0.0

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data = super()._get_constructor_parameters()
        for name in ("net_arch", "features_extractor_class", "features_extractor_kwargs"):
            del data[name]
        return data | {"hidden": self.hidden}

    def logits_and_value(
        self, observation: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return masked log-probabilities (n, 46) and values (n,) of float observations (n, D).

        The heads compute in float32 also where the torso does not: a probability ratio is no place
        for rounding.
        """
        features = self.features_extractor(observation).float()
        with torch.autocast("cpu", enabled=False):
            logits = self.action_net(features).masked_fill(~mask, MASKED)
            return torch.log_softmax(logits, dim=1), self.value_net(features).flatten()


def sample(log_probabilities: NDArray[np.float32], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an action (n,) for each row of log-probabilities (n, 46) and draw (n,) in 0 .. 1."""
    sums = np.cumsum(np.exp(log_probabilities, dtype=np.float64), axis=1)
    return np.argmax(sums > (draws * sums[:, -1])[:, None], axis=1)


class LearnedAgent:
    """A trained model that plays its sampled policy: a bluffer must mix.

    Args:
        name: how it is called in tables.
        policy: the network.
    """

    def __init__(self, name: str, policy: CheatPolicy) -> None:
        self.name = name
        self.policy = policy
        size = policy.observation_space.shape[0]
        self.observation = next(k for k, layout in obs.LAYOUTS.items() if layout.size == size)
        policy.set_training_mode(False)

    @staticmethod
    def load(path: Path) -> LearnedAgent:
        """Return the agent of a `model.zip`; raises `AgentError` where it is none."""
        try:
            policy = MaskablePPO.load(path, device="cpu").policy
        except Exception as error:  # a foreign file can break the library's loader anywhere
            said = " ".join(str(error).split())
            raise AgentError(
                f"model {path}: can't be read: {said or type(error).__name__}"
            ) from None
        sizes = {layout.size for layout in obs.LAYOUTS.values()}
        space, actions = policy.observation_space, policy.action_space
        if not isinstance(policy, CheatPolicy) or space.shape[0] not in sizes:
            raise AgentError(
                f"model {path}: made for observations {space.shape} and actions {actions},"
                f" here are observations {sorted(sizes)} and {NUM_ACTIONS} actions"
            )
        return LearnedAgent(str(path), policy)

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        with torch.inference_mode():
            log_probabilities, _ = self.policy.logits_and_value(
                torch.tensor(observation, dtype=torch.float32),
                torch.tensor(action_mask, dtype=torch.bool),
            )
        return sample(log_probabilities.numpy(), rng.random(len(observation)))
