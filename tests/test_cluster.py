"""Many machines: a Ray cluster of two nodes, both on this machine, does what one process does."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agents import load
from train.config import Config, Game, Learner, Opponents
from train.evaluate import main as evaluate
from train.selfplay import SelfPlay

ray = pytest.importorskip("ray")
cluster = pytest.importorskip("train.cluster")

TINY = Config(
    game=Game(variants=("russian", "english"), num_players=3),
    learner=Learner(
        total_decisions=3000,
        tables=24,
        steps=16,
        actors=2,
        hidden=(16, 16),
        minibatch=128,
        threads=1,
        seed=5,
    ),
    opponents=Opponents(random_rules=0.3, fixed_rules=0.2),
)
SECONDS = 120


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """Run `ray start` as a person would; the node is there as long as the process is."""
    command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=2"]
    more = ("--object-store-memory=100000000", "--disable-usage-stats")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*command, *more, *arguments], **quiet)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a cluster of two nodes on loopback and join it; its address."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    joined = f"127.0.0.1:{free_port()}"
    own = ("--node-ip-address=127.0.0.1", "--include-dashboard=false")
    nodes = [start("--head", f"--port={joined.rpartition(':')[2]}", *own)]
    try:
        _wait_for(lambda: _joins(joined))
        nodes.append(start(f"--address={joined}", "--node-ip-address=127.0.0.1"))
        _wait_for(lambda: sum(node["Alive"] for node in ray.nodes()) == 2)
        yield joined
    finally:
        ray.shutdown()
        for node in reversed(nodes):
            node.terminate()
            node.wait(SECONDS)


def _joins(address: str) -> bool:
    try:
        cluster.connect(address)
    except cluster.ClusterError:
        return False
    return True


def _wait_for(happens: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < until, "the cluster did not start"
        time.sleep(0.2)


def on(address: str, config: Config = TINY) -> SelfPlay:
    """Return a training whose tables a cluster plays."""
    return SelfPlay(config, partial(cluster.Cluster, address))


def weights(training: SelfPlay) -> list[bytes]:
    """Return the weights of policy and critic."""
    return [w.numpy().tobytes() for part in training.networks.weights() for w in part.values()]


def test_a_cluster_comes_to_what_one_process_does(address: str) -> None:
    """Same seed, same actors: the same figures and weights, byte for byte."""
    here, there = SelfPlay(TINY), on(address)
    for _ in range(3):
        (own, played), (found, also) = here.iterate(), there.iterate()
        assert found == own
        assert (also.deals, also.won.tolist()) == (played.deals, played.won.tolist())
    assert weights(there) == weights(here)
    assert len({place.node for place in there.collectors.places()}) == 2, "both nodes play"


def test_the_number_of_actors_is_part_of_what_a_seed_gives() -> None:
    """Each actor has chance of its own; threads change nothing, actors do."""
    one = SelfPlay(replace(TINY, learner=replace(TINY.learner, actors=1)))
    two = SelfPlay(TINY)
    for training in (one, two):
        training.iterate()
    assert weights(one) != weights(two)


def test_a_lost_worker_costs_only_time(address: str) -> None:
    """Workers are killed before and in the middle of rollouts: what comes out is the same."""
    here, there = SelfPlay(TINY), on(address)
    for turn in range(3):
        own, _ = here.iterate()
        lost = there.collectors.places()[turn % TINY.learner.actors].process
        killer = threading.Timer(0.01 * turn, os.kill, (lost, signal.SIGKILL))
        killer.start()
        found, _ = there.iterate()
        killer.join()
        assert found == own
    here.iterate(), there.iterate()  # whoever was killed late is missed now
    assert weights(there) == weights(here)


def test_a_lost_learner_goes_on_from_its_checkpoint(address: str, tmp_path: Path) -> None:
    """What a learner saved goes on elsewhere: on the cluster or in one process, the same."""
    straight, first = SelfPlay(TINY), on(address)
    expected = [straight.iterate()[0] for _ in range(4)]
    found = [first.iterate()[0] for _ in range(2)]
    first.save(tmp_path)
    first.iterate()  # lost
    for again in (on(address), SelfPlay(TINY)):
        again.restore(tmp_path)
        assert found + [again.iterate()[0] for _ in range(2)] == expected
        assert weights(again) == weights(straight)


def test_other_code_on_the_cluster_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that runs other sources could come to anything."""
    monkeypatch.setattr(cluster.results, "code", lambda: "cheat_env 9.9 (changed)")
    with pytest.raises(cluster.ClusterError, match=r"runs cheat_env .* learner cheat_env 9\.9"):
        on(address)


def test_an_evaluation_fans_out(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jobs on the cluster come to the bytes that this process writes."""
    words = "--variant russian --agents counter --against honest skeptic --deals 150 --seed 3"
    for name, more in (("here", ["--workers", "1"]), ("there", ["--cluster", address])):
        assert evaluate([*words.split(), *more, "--out", str(tmp_path / name)]) == 0
    here, there = ((tmp_path / n / "evaluation.json").read_bytes() for n in ("here", "there"))
    assert here == there and json.loads(here)["cells"]


def test_a_training_on_the_cluster_is_one_command(address: str, tmp_path: Path) -> None:
    """The command leaves the weights and the figures that it leaves without a cluster."""
    keys = f"--output.directory {tmp_path} --learner.total_decisions 9000 --evaluation.deals 2"
    command = [sys.executable, "-m", "train", "--config", "smoke.yaml", *keys.split()]
    for name, more in (("here", []), ("there", ["--cluster", address])):
        subprocess.run(
            [*command, "--name", name, *more], check=True, capture_output=True, timeout=SECONDS
        )
    here, there = (load(str(tmp_path / name / "model.zip")) for name in ("here", "there"))
    for name, own in here.arrays().items():
        assert own.tobytes() == there.arrays()[name].tobytes(), name
    rows = []
    for name in ("here", "there"):
        with (tmp_path / name / "metrics.csv").open(newline="") as file:
            rows.append([(row["decisions"], row["policy_loss"]) for row in csv.DictReader(file)])
    assert rows[0] == rows[1] and len(rows[0]) > 1


def test_no_cluster_is_one_line(tmp_path: Path) -> None:
    """An address where nothing answers is named, and nothing begins."""
    keys = f"--output.directory {tmp_path}/runs --cluster 127.0.0.1:1"
    command = [sys.executable, "-m", "train", "--config", "smoke.yaml", *keys.split()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert found.returncode == 2 and found.stderr.count("\n") == 1
    assert "--cluster '127.0.0.1:1'" in found.stderr
    assert not (tmp_path / "runs").exists()
