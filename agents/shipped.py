"""Shipped models: trained policies that play with NumPy alone, and the files that hold them.

A file is NumPy's own archive of arrays, from which no code is ever run, with a header in JSON: what
the weights were made for, and how. Whoever reads it refuses what was made for other observations.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import AgentError
from cheat_env import actions as act
from cheat_env import observations as obs
from cheat_env.files import write

ZOO = Path(__file__).parent / "zoo"
SUFFIX = ".npz"
FORMAT = 1
#: What reading a damaged or foreign file can raise.
BROKEN = (
    *(OSError, EOFError, MemoryError, ValueError, KeyError, TypeError),
    *(zipfile.BadZipFile, zlib.error),
)
#: No network has wider layers, or more of them.
MOST_WIDTH, MOST_LAYERS = 2**14, 16
#: Logits of masked actions.
MASKED = -1e8
#: The value that a network starts from: this much for every 13 cards that a seat holds fewer than
#: the mean of the others. Without it, self-play begins in games that never end.
VALUE_PRIOR = 0.5
PRIOR_CARDS = 13.0


def prior(observation: Any) -> Any:
    """Return the value (n,) that a network starts from on observations (n, D), array or tensor."""
    players = observation[:, obs.AT_PLAYERS]
    hands = observation[:, obs.AT_HAND_SIZES : obs.AT_HAND_SIZES + obs.MAX_SEATS]
    own = hands[:, 0]
    others = (hands.sum(1) - own) / (players - 1 + (players < 2))
    return VALUE_PRIOR * (others - own) / PRIOR_CARDS


def sample(log_probabilities: NDArray[np.float32], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an action (n,) for each row of log-probabilities (n, 46) and draw (n,) in 0 .. 1."""
    sums = np.cumsum(np.exp(log_probabilities, dtype=np.float64), axis=1)
    return np.argmax(sums > (draws * sums[:, -1])[:, None], axis=1)


def header_for(observation: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a model that reads "table" or "memory", with what else to tell of it."""
    made_for = {"format": FORMAT, "digest": digest(obs.layout(observation))}
    return {"observation": observation, **made_for, **told}


def refuse_foreign(path: Path, header: Mapping[str, Any]) -> None:
    """Raise `AgentError` where a header is of another format or layout than these."""
    made = header["format"], header["digest"]
    own = FORMAT, digest(obs.layout(header["observation"]))
    if made != own:
        made_for, here = (
            f"format {form}, layout {str(hashed)[:12]}" for form, hashed in (made, own)
        )
        raise AgentError(f"model {path}: made for {made_for}; here are {here}")


def unreadable(path: Path, error: Exception) -> AgentError:
    """Return the error for a model's file that is damaged or foreign, in one line."""
    if isinstance(error, AgentError):
        return error
    said = " ".join(str(error).split()) or type(error).__name__
    return AgentError(f"model {path}: can't be read: {said}")


def digest(layout: obs.Layout) -> str:
    """Return a hash of what the numbers of an observation and of an action stand for."""
    fields = [[field.name, *field.shape, field.scale] for field in layout.fields]
    actions = [act.name(action) for action in range(act.NUM_ACTIONS)]
    return hashlib.sha256(json.dumps([fields, actions]).encode()).hexdigest()


class PolicyAgent(ABC):
    """A trained policy that plays what it draws: a bluffer must mix.

    Attributes:
        name: how it is called in tables.
        observation: "table" or "memory".
    """

    name: str
    observation: str

    @abstractmethod
    def log_probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        """Return masked log-probabilities, float32 (n, 46), of observations (n, D)."""

    def act(
        self,
        observation: NDArray[np.int8],
        action_mask: NDArray[np.int8],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return an action for each row (see `agents.base.Agent`)."""
        draws = rng.random(len(observation))
        return sample(self.log_probabilities(observation, action_mask), draws)

    def probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the probability of each action (see `agents.base.Mixing`)."""
        found = np.exp(self.log_probabilities(observation, action_mask), dtype=np.float64)
        return found / found.sum(axis=1, keepdims=True)


class ShippedAgent(PolicyAgent):
    """A trained policy that plays with NumPy: dense layers with ReLU, then one of actions.

    Args:
        name: how it is called in tables.
        header: what the file tells of it.
        arrays: `weight.i` (out, in) and `bias.i` (out,) of each layer i, the last of 46 actions;
            `prior` (46,), what the value prior adds to their logits.
    """

    def __init__(self, name: str, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]):
        self.name = name
        self.header = header
        self.observation = header["observation"]
        layout = obs.layout(self.observation)
        self.arrays = dict(arrays)
        self._scale = 1 / layout.per_number("scale").astype(np.float32)
        self._prior = arrays["prior"]
        self._layers = []
        for i in count():
            if f"weight.{i}" not in arrays:
                break
            self._layers.append((arrays[f"weight.{i}"].T, arrays[f"bias.{i}"]))
        sizes = [layout.size, *(weight.shape[1] for weight, _ in self._layers)]
        for size, (weight, bias) in zip(sizes, self._layers, strict=False):
            if weight.shape[0] != size or bias.shape != weight.shape[1:]:
                raise ValueError(f"a layer of shape {weight.T.shape} on {size} numbers")
        if sizes[-1] != act.NUM_ACTIONS or self._prior.shape != (act.NUM_ACTIONS,):
            raise ValueError(f"{sizes[-1]} actions instead of {act.NUM_ACTIONS}")

    @staticmethod
    def load(path: Path, name: str = "") -> ShippedAgent:
        """Return the agent of a file; raises `AgentError` where it holds none that plays here."""
        try:
            header, arrays = _read(path)
            refuse_foreign(path, header)
            return ShippedAgent(name or str(path), header, arrays)
        except BROKEN as error:
            raise unreadable(path, error) from None

    def log_probabilities(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        """Return masked log-probabilities (see `PolicyAgent`)."""
        *hidden, (weight, bias) = self._layers
        numbers = observation * self._scale
        for layer, shift in hidden:
            numbers = np.maximum(numbers @ layer + shift, 0)
        logits = numbers @ weight + bias
        logits += prior(observation).astype(np.float32)[:, None] * self._prior
        logits = np.where(action_mask == 1, logits, np.float32(MASKED))
        logits -= logits.max(axis=1, keepdims=True)
        found: NDArray[np.float32] = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return found


def save(
    path: Path, observation: str, arrays: Mapping[str, NDArray[Any]], told: Mapping[str, Any]
) -> None:
    """Write a file for `ShippedAgent.load`, whole or not at all: arrays, and what it tells."""
    header = header_for(observation, told)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, header=text, **arrays)
    write(path, lambda unfinished: unfinished.write_bytes(buffer.getvalue()))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return the header and the arrays of a file."""
    archive = np.load(path, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError("it is no archive of arrays")
    with archive:
        header = json.loads(archive["header"].tobytes())
        names = [name for name in archive.files if name != "header"]
        arrays = {name: archive[name] for name in names}
    for name, array in arrays.items():
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise ValueError(f"array {name!r} holds other things than finite float32 numbers")
    return header, arrays


def names() -> tuple[str, ...]:
    """Return the names of the models that are shipped."""
    return tuple(sorted(path.stem for path in ZOO.glob(f"*{SUFFIX}")))
