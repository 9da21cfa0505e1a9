"""Trained models as agents, and their network; the only room here that needs torch."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn
from torch.nn import functional

from agents.shipped import (
    BROKEN,
    MASKED,
    MOST_LAYERS,
    MOST_WIDTH,
    PolicyAgent,
    ShippedAgent,
    header_for,
    prior,
    refuse_foreign,
    unreadable,
)
from cheat_env import observations as obs
from cheat_env.actions import NUM_ACTIONS

#: The header's name in a `model.zip`.
HEADER = "cheat.json"


class Dense(nn.Module):
    """Dense layers with ReLU on numbers that are scaled by their usual size.

    Args:
        scale: float32 (D,), the usual size of each number; of one that is not to be seen, infinite.
        hidden: widths of the layers.
    """

    def __init__(self, scale: NDArray[np.float32], hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(1 / scale), persistent=False)
        sizes = (len(scale), *hidden)
        self.layers = nn.ModuleList(nn.Linear(*ends) for ends in pairwise(sizes))

    def forward(self, numbers: torch.Tensor, columns: torch.Tensor | None = None) -> torch.Tensor:
        """Return the last layer (n, hidden) for numbers (n, D), or for those `columns` of them.

        Numbers that are 0 in every row change nothing, so whoever knows them can leave them out.
        """
        first, *rest = self.layers
        weight = first.weight * self.scale
        weight = weight if columns is None else weight.index_select(1, columns)
        found = functional.relu(functional.linear(numbers, weight, first.bias))
        for layer in rest:
            found = functional.relu(layer(found))
        return found


class Torso(BaseFeaturesExtractor):
    """Dense layers for policy and value, and the value prior as one more feature.

    Args:
        observation_space: Box of int8 (D,), `table` or `memory`.
        hidden: widths of the layers.
        blind: fields of the observation that are not to be seen.
    """

    def __init__(
        self,
        observation_space: gymnasium.spaces.Box,
        hidden: tuple[int, ...],
        blind: tuple[str, ...],
    ) -> None:
        super().__init__(observation_space, hidden[-1] + 1)
        self.dense = Dense(usual_sizes(observation_space.shape[0], blind), hidden)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return features (n, hidden + 1) of observations (n, D)."""
        return torch.cat((self.dense(observation), prior(observation)[:, None]), dim=1)


def usual_sizes(size: int, blind: tuple[str, ...] = ()) -> NDArray[np.float32]:
    """Return what to scale the first `size` numbers of an observation by, float32 (size,)."""
    sizes = obs.MEMORY.per_number("scale").astype(np.float32)
    for field in obs.MEMORY.fields:
        if field.name in blind:
            start = obs.MEMORY.start[field.name]
            sizes[start : start + field.size] = np.inf
    return sizes[:size]


class CheatPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's maskable policy on a `Torso`: one linear head each for actions and value."""

    def __init__(
        self,
        *args: Any,
        hidden: tuple[int, ...] = (256, 256),
        blind: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        self.hidden, self.blind = tuple(hidden), tuple(blind)
        kwargs |= {
            "net_arch": [],
            "features_extractor_class": Torso,
            "features_extractor_kwargs": {"hidden": self.hidden, "blind": self.blind},
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
        return data | {"hidden": self.hidden, "blind": self.blind}

    def logits_and_value(
        self, observation: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return masked log-probabilities (n, 46) and values (n,) of float observations (n, D)."""
        return self.heads(self.features_extractor.dense(observation), prior(observation), mask)

    def heads(
        self, features: torch.Tensor, prior: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return masked log-probabilities (n, 46) and values (n,) of dense features and the prior.

        They compute in float32 also where the torso does not: a probability ratio is no place for
        rounding.
        """
        heads = (self.action_net, self.value_net)
        weight, bias = (torch.cat([getattr(h, n) for h in heads]) for n in ("weight", "bias"))
        with torch.autocast("cpu", enabled=False):
            found = functional.linear(features.float(), weight[:, :-1], bias)
            found = found + prior[:, None] * weight[:, -1]
            logits = found[:, :-1].masked_fill(~mask, MASKED)
            return torch.log_softmax(logits, dim=1), found[:, -1]


class CheatModel(MaskablePPO):
    """MaskablePPO whose files have a header, so that they can be read without running anything.

    Attributes:
        told: what else the header tells.
    """

    told: dict[str, Any] | None = None

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Write what `MaskablePPO.load` and `LearnedAgent.load` read, to a path with .zip."""
        super().save(path, exclude, include)
        told = {"hidden": self.policy.hidden, "blind": self.policy.blind, **(self.told or {})}
        header = header_for(_layout_of(self.policy), told)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(HEADER, json.dumps(header))


def _layout_of(policy: CheatPolicy) -> str:
    """Return the name of the observation that a policy reads."""
    size = policy.observation_space.shape[0]
    return next(name for name, layout in obs.LAYOUTS.items() if layout.size == size)


def _policy(header: Mapping[str, Any]) -> CheatPolicy:
    """Return an untrained policy of the kind that a header tells; raises ValueError."""
    hidden, blind = tuple(header["hidden"]), tuple(header["blind"])
    whole = all(isinstance(width, int) and 0 < width <= MOST_WIDTH for width in hidden)
    if not whole or not 0 < len(hidden) <= MOST_LAYERS:
        raise ValueError(f"layers of {list(hidden)}")
    space, actions = obs.layout(header["observation"]).space(), spaces.Discrete(NUM_ACTIONS)
    return CheatPolicy(space, actions, lambda _: 0.0, hidden=hidden, blind=blind)


def network_of(agent: ShippedAgent) -> CheatPolicy:
    """Return the network of a shipped model; its value begins anew."""
    policy, arrays = _policy(agent.header), agent.arrays
    *layers, _ = sorted(name for name in arrays if name.startswith("weight."))
    weights = {
        f"features_extractor.dense.layers.{i}.{kind}": arrays[f"{kind}.{i}"]
        for i in range(len(layers))
        for kind in ("weight", "bias")
    }
    last = (arrays[f"weight.{len(layers)}"], arrays["prior"][:, None])
    weights["action_net.weight"] = np.concatenate(last, axis=1)
    weights["action_net.bias"] = arrays[f"bias.{len(layers)}"]
    policy.load_state_dict(
        policy.state_dict() | {name: torch.from_numpy(w) for name, w in weights.items()}
    )
    return policy


class LearnedAgent(PolicyAgent):
    """A model in training, or just trained, that plays by its network.

    Args:
        name: how it is called in tables.
        policy: the network.
        header: what its file tells of it.
    """

    def __init__(
        self, name: str, policy: CheatPolicy, header: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self.policy = policy
        self.header = dict(header or {})
        self.observation = _layout_of(policy)
        policy.set_training_mode(False)

    @staticmethod
    def load(path: Path) -> LearnedAgent:
        """Return the agent of a `model.zip`; raises `AgentError` where it is none.

        Nothing in the file is run: its weights and its header are read, and no pickled object.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                header = json.loads(archive.read(HEADER))
                weights = io.BytesIO(archive.read("policy.pth"))
            refuse_foreign(path, header)
            policy = _policy(header)
            policy.load_state_dict(torch.load(weights, weights_only=True))
        except (*BROKEN, RuntimeError, UnpicklingError) as error:
            raise unreadable(path, error) from None
        return LearnedAgent(str(path), policy, header)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return what `agents.shipped` plays by: the policy's weights, without its value."""
        policy = self.policy
        heads = policy.action_net.weight, policy.action_net.bias
        dense = policy.features_extractor.dense
        layers = [(layer.weight, layer.bias) for layer in dense.layers]
        layers[0] = (layers[0][0] * (dense.scale > 0), layers[0][1])
        found = {"prior": heads[0][:, -1]}
        for i, (weight, bias) in enumerate([*layers, (heads[0][:, :-1], heads[1])]):
            found |= {f"weight.{i}": weight, f"bias.{i}": bias}
        return {name: tensor.detach().numpy().copy() for name, tensor in found.items()}

    def log_probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        """Return masked log-probabilities (see `agents.shipped.PolicyAgent`)."""
        with torch.inference_mode():
            found, _ = self.policy.logits_and_value(
                torch.tensor(observation, dtype=torch.float32),
                torch.tensor(action_mask, dtype=torch.bool),
            )
        logs: NDArray[np.float32] = found.numpy()
        return logs
