"""Policy and critic, computed in parts by threads.

The rows are split into the same parts whatever the number of threads, so the results are the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import nn

from agents.learned import CheatModel, CheatPolicy, usual_sizes
from agents.shipped import prior
from cheat_env.actions import NUM_ACTIONS
from cheat_env.observations import layout
from train.config import Learner
from train.critic import ADAM_EPS, Critic

#: The weights of a policy, and of the critic if there is one.
Weights = tuple[dict[str, torch.Tensor], ...]
S = TypeVar("S")
T = TypeVar("T")
M = TypeVar("M", bound=nn.Module)

#: What a training reads.
OBSERVATION = "memory"
#: Into how many parts the rows of a minibatch are split.
PARTS = 2
#: Numbers of rows and columns are multiples of this where that is for us to choose.
ROUND = 32


@dataclass
class Seen:
    """Rows to judge, m of them, without the numbers that are 0 in all of them.

    Attributes:
        numbers: int8 (m, c), observation and hidden cards.
        columns: int64 (c,), the places of these numbers.
        own: how many of them are of the observation.
        prior: float32 (m,), the value that networks start from.
        mask: bool (m, 46), the legal actions.
    """

    numbers: torch.Tensor
    columns: torch.Tensor
    own: int
    prior: torch.Tensor
    mask: torch.Tensor


class Judged(NamedTuple):
    """Log-probabilities (n, 46), the policy's own values (n,), and the critic's (n,) or None."""

    log_probabilities: torch.Tensor
    value: torch.Tensor
    worth: torch.Tensor | None


def see(observation: NDArray[np.int8], hidden: NDArray[np.int8], mask: NDArray[np.int8]) -> Seen:
    """Return rows to judge: observation (m, D), hidden (m, H) and mask (m, 46), int8."""
    own, more = _filled(observation), _filled(hidden)
    numbers = np.concatenate((observation[:, own], hidden[:, more]), axis=1)
    return Seen(
        numbers=torch.from_numpy(numbers),
        columns=torch.from_numpy(np.concatenate((own, observation.shape[1] + more))),
        own=len(own),
        prior=torch.from_numpy(prior(observation).astype(np.float32)),
        mask=torch.from_numpy(mask).bool(),
    )


def _filled(numbers: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the columns that are not 0 in every row, and some more up to a round number."""
    empty = np.bitwise_or.reduce(numbers, axis=0) == 0
    used = min(_round_up(len(empty) - int(empty.sum())), len(empty))
    return np.sort(np.argsort(empty, kind="stable")[:used])


def _round_up(number: int) -> int:
    """Return the next multiple of ROUND: torch keeps code for every size of a product it meets."""
    return -(-number // ROUND) * ROUND


class Networks:
    """A policy and perhaps a critic, each with copies that share its weights, one for each part.

    Args:
        policy: what acts.
        critic: what sees the whole table, or None: then the policy's own value counts.
        threads: threads to compute with; more than one for each part are of no use.
        bfloat16: compute dense layers in bfloat16.
    """

    def __init__(
        self, policy: CheatPolicy, critic: Critic | None, threads: int, bfloat16: bool
    ) -> None:
        self.policy, self.critic = policy, critic
        self._bfloat16 = bfloat16
        self._policies = [policy, *(_sharing(policy) for _ in range(PARTS - 1))]
        self._critics = [critic, *(critic and _sharing(critic) for _ in range(PARTS - 1))]
        torch.set_num_threads(1)  # the parts are the threads
        self._pool = ThreadPoolExecutor(min(threads, PARTS)) if threads > 1 else None

    def weights(self) -> Weights:
        """Return the weights, which share memory with the networks'."""
        return tuple(module.state_dict() for module in (self.policy, self.critic) if module)

    def take(self, weights: Weights) -> None:
        """Take over the weights of other networks of the same shape."""
        modules = [module for module in (self.policy, self.critic) if module]
        for module, own in zip(modules, weights, strict=True):
            module.load_state_dict(own)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let products of float32 be made of bfloat16 parts too, where that is asked for."""
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium" if self._bfloat16 else before)
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)

    def judge(
        self,
        part: int,
        observation: NDArray[np.int8],
        hidden: NDArray[np.int8],
        mask: NDArray[np.int8],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return log-probabilities (m, 46) and the values (m,) that advantages are taken from."""
        size = len(mask)
        rows = torch.arange(_round_up(size)) % max(size, 1)
        with torch.inference_mode():
            found = self._forward(part % PARTS, see(observation, hidden, mask), rows)
        value = found.value if found.worth is None else found.worth
        return found.log_probabilities[:size].numpy(), value[:size].numpy()

    def backward(
        self,
        seen: Seen,
        rows: torch.Tensor,
        loss: Callable[[Judged, torch.Tensor], tuple[torch.Tensor, dict[str, torch.Tensor]]],
    ) -> dict[str, float]:
        """Add the gradient of a loss over rows, which is a sum over them; returns its figures."""

        def work(part: int, mine: torch.Tensor) -> dict[str, torch.Tensor]:
            found, figures = loss(self._forward(part, seen, mine), mine)
            found.backward()  # type: ignore[no-untyped-call]
            return figures

        parts = self.side_by_side(work, rows.tensor_split(PARTS))
        for whole, *copies in zip(*map(self._parameters, range(PARTS)), strict=True):
            for other in copies:
                if other.grad is not None:
                    whole.grad += other.grad
                    other.grad = None
        return {name: sum(part[name].item() for part in parts) for name in parts[0]}

    def _parameters(self, part: int) -> list[nn.Parameter]:
        critic = self._critics[part]
        return [*self._policies[part].parameters(), *(critic.parameters() if critic else ())]

    def _forward(self, part: int, seen: Seen, rows: torch.Tensor) -> Judged:
        """Judge some rows by one part's copies."""
        policy, critic = self._policies[part], self._critics[part]
        numbers = seen.numbers.index_select(0, rows).to(
            torch.bfloat16 if self._bfloat16 else torch.float32
        )
        prior, own = seen.prior[rows], seen.own
        with torch.autocast("cpu", torch.bfloat16, enabled=self._bfloat16):
            features = policy.features_extractor.dense(numbers[:, :own], seen.columns[:own])
            logs, value = policy.heads(features, prior, seen.mask[rows])
            worth = critic(numbers, prior, seen.columns) if critic else None
        return Judged(logs, value, worth)

    def side_by_side(self, work: Callable[[int, S], T], shares: Sequence[S]) -> list[T]:
        """Return what each part makes of its share."""
        apply = self._pool.map if self._pool else map
        return list(apply(work, range(len(shares)), shares))


def _sharing(module: M) -> M:
    """Return a copy of a module that has the same weights in memory and gradients of its own."""
    made: Any = copy.deepcopy(module)
    for own, shared in zip(made.parameters(), module.parameters(), strict=True):
        own.data = shared.data
    return made


def new_model(
    observation: str, hidden: Sequence[int], seed: int, blind: Sequence[str] = ()
) -> CheatModel:
    """Return an untrained model that reads "table" or "memory"."""
    model = CheatModel(
        CheatPolicy,
        env=None,
        n_steps=1,
        batch_size=1,
        policy_kwargs={
            "hidden": tuple(hidden),
            "blind": tuple(blind),
            "optimizer_kwargs": {"eps": ADAM_EPS, "fused": True},
        },
        seed=seed,
        device="cpu",
        _init_setup_model=False,
    )
    model.observation_space = layout(observation).space()
    model.action_space = spaces.Discrete(NUM_ACTIONS)
    model.n_envs = 1
    model._setup_model()
    model.policy.set_training_mode(False)  # it has no layer that would differ
    return model


def new_networks(learner: Learner) -> tuple[CheatModel, Networks]:
    """Return an untrained model, and the networks of its policy and the critic, if there is one."""
    torch.manual_seed(learner.seed)
    model = new_model(OBSERVATION, learner.hidden, learner.seed, learner.blind)
    critic = None
    if learner.critic:
        sizes = usual_sizes(layout(OBSERVATION).size, learner.blind)
        critic = Critic(sizes, learner.hidden, learner.value_prior)
    if not learner.value_prior:
        torch.nn.init.zeros_(model.policy.value_net.weight)
    return model, Networks(model.policy, critic, learner.threads, learner.bfloat16)
