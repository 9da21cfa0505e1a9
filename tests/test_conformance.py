"""PettingZoo's own tests, for every game and number of players of the rule book, and the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
import pettingzoo
import pytest
from conftest import VARIANTS
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test

from cheat_env import env, parallel_env, raw_env, variants

#: What PettingZoo says of every dict observation, although it documents them.
ABOUT_DICTS = ("Observation is not a NumPy array", "Observation space for each agent probably")
OBSERVATIONS = ("table", "memory")


@contextmanager
def only_warns_about_dicts() -> Iterator[None]:
    """Fail on every warning but the two that dict observations always get."""
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(StringIO()):
        warnings.simplefilter("always")
        yield
    texts = [str(warning.message) for warning in caught]
    assert [text for text in texts if not text.startswith(ABOUT_DICTS)] == []


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("make", [env, raw_env], ids=["env", "raw_env"])
def test_api(game: tuple[str, int], make: Any, observation: str) -> None:
    """The AEC interface holds."""
    with only_warns_about_dicts():
        api_test(make(*game, observation=observation), num_cycles=60)


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("make", [env, raw_env], ids=["env", "raw_env"])
def test_seed(game: tuple[str, int], make: Any, observation: str) -> None:
    """Equal seeds give equal games."""
    with only_warns_about_dicts():
        seed_test(partial(make, *game, observation=observation), num_cycles=40)


@pytest.mark.parametrize("make", [env, raw_env], ids=["env", "raw_env"])
def test_render(game: tuple[str, int], make: Any) -> None:
    """Every render mode that is declared returns what it must."""
    with only_warns_about_dicts():
        render_test(partial(make, *game))


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_parallel_api(game: tuple[str, int], observation: str) -> None:
    """The parallel interface holds."""
    with only_warns_about_dicts():
        parallel_api_test(parallel_env(*game, observation=observation), num_cycles=200)


def test_parallel_seed(game: tuple[str, int]) -> None:
    """Equal seeds give equal parallel games, other seeds others."""

    def trace(seed: int) -> list[Any]:
        game_env, rng, found = parallel_env(*game), np.random.default_rng(5), []
        observations, _ = game_env.reset(seed=seed)
        for _ in range(40):
            actions = {}
            for agent in game_env.agents:
                legal = np.flatnonzero(observations[agent]["action_mask"])
                actions[agent] = int(rng.choice(legal)) if len(legal) else 0
            observations, rewards, *_ = game_env.step(actions)
            found.append((observations_bytes(observations), rewards, actions))
        return found

    assert trace(3) == trace(3)
    assert trace(3) != trace(4)


def observations_bytes(observations: dict[str, Any]) -> dict[str, bytes]:
    """Return every agent's arrays as bytes."""
    return {
        agent: found["observation"].tobytes() + found["action_mask"].tobytes()
        for agent, found in observations.items()
    }


@pytest.mark.parametrize("variant", sorted(set(variants()) - set(VARIANTS)))
def test_the_other_games_conform(variant: str) -> None:
    """All of the above holds in the eighteen other games, at their usual number of players."""
    with only_warns_about_dicts():
        api_test(env(variant), num_cycles=60)
        seed_test(partial(env, variant, observation="memory"), num_cycles=40)
        render_test(partial(env, variant))
        parallel_api_test(parallel_env(variant), num_cycles=100)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["aec", "parallel"])
def test_make(variant: str, kind: str) -> None:
    """PettingZoo's registry makes the same game as the package."""
    made = pettingzoo.make(kind, "cheat_env/cheat-v0", variant=variant, num_players=3)
    direct = {"aec": env, "parallel": parallel_env}[kind](variant, num_players=3)
    made.reset(seed=4)
    direct.reset(seed=4)
    assert made.possible_agents == ["player_0", "player_1", "player_2"]
    assert made.unwrapped.tables.rules.name == variant
    assert np.array_equal(made.state(), direct.state())


@pytest.mark.parametrize("make", [env, raw_env, parallel_env])
def test_before_reset(make: Any) -> None:
    """Agents and spaces are there before the first reset."""
    made = make("russian", 5)
    assert made.possible_agents == [f"player_{seat}" for seat in range(5)]
    for agent in made.possible_agents:
        assert made.action_space(agent).n == 46
        assert made.observation_space(agent) is made.observation_space(agent)


def test_step_before_reset() -> None:
    """The wrapped environment says that it must be reset first."""
    with pytest.raises(Exception, match="reset"):
        env().step(0)


def test_unknown_arguments() -> None:
    """What can't be made is refused with the allowed values."""
    with pytest.raises(ValueError, match=r"table, memory"):
        raw_env(observation="all")
    with pytest.raises(ValueError, match=r"human, ansi, rgb_array"):
        raw_env(render_mode="rgb")
