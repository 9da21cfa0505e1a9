"""The chunks of an evaluation as jobs: played here or by worker processes, and kept when done.

What a job comes to depends on its cell and chunk alone, so the number of workers and interruptions
change no byte.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from agents import Agent, load
from train.matches import Cell, Result, play_chunk

#: To start workers takes seconds, and compiles for each of them what was never compiled before; so
#: for so long this process plays alone.
ALONE_SECONDS = 3.0
CLUSTER_HELP = (
    'play on the Ray cluster at this address; "auto": the one that this machine is part of'
)


class ClusterError(ConnectionError):
    """A cluster that can't be used; the message says which and why."""


def cluster_room() -> Any:
    """Return `train.cluster`; raises `ClusterError` where Ray, which is an extra, is missing."""
    try:
        return importlib.import_module("train.cluster")
    except ModuleNotFoundError as error:
        raise ClusterError(f"--cluster: needs {error.name}; install cheat-env[cluster]") from None


class Job(NamedTuple):
    """A chunk of a cell, by their places."""

    cell: int
    chunk: int


def jobs_of(cells: Sequence[Cell]) -> list[Job]:
    """Return all jobs, in order."""
    return [Job(i, chunk) for i, cell in enumerate(cells) for chunk in range(cell.chunks)]


# --- Playing --------------------------------------------------------------------------------------


def play(
    cells: Sequence[Cell],
    jobs: Sequence[Job],
    agents: Mapping[str, Agent],
    sources: Mapping[str, str],
    workers: int,
    cluster: str = "",
) -> Generator[tuple[Job, Result], None, None]:
    """Play jobs and yield each with its result, in the order in which they end.

    On a cluster, if there is one. Else what takes seconds is played here, with `agents`, the rest
    by worker processes, if there may be more than one; they load the agents from `sources`.
    """
    if cluster:
        yield from cluster_room().play_jobs(cluster, cells, jobs, sources)
        return
    began, left = time.monotonic(), deque(jobs)
    while left and (workers == 1 or time.monotonic() - began < ALONE_SECONDS):
        job = left.popleft()
        with _one_thread():
            result = play_chunk(cells[job.cell], agents, job.chunk)
        yield job, result
    if left:
        yield from _play_by_workers(cells, left, sources, min(workers, len(left)))


def _play_by_workers(
    cells: Sequence[Cell], jobs: Iterable[Job], sources: Mapping[str, str], workers: int
) -> Iterator[tuple[Job, Result]]:
    """Play jobs in worker processes, spawned: forks of a process with threads can hang."""
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, spawn, initializer=_end_with_parent)
    try:
        with _interrupts_held():  # Ctrl-C is for this process: it ends the workers
            playing = {
                executor.submit(play_elsewhere, cells[job.cell], dict(sources), job.chunk): job
                for job in jobs
            }
        for future in as_completed(playing):
            yield playing[future], future.result()
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Let this worker end with the process that started it, however that one ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def play_elsewhere(cell: Cell, sources: Mapping[str, str], chunk: int) -> Result:
    """Return what a chunk comes to in a process that has to load its agents itself."""
    agents = {name: _load_once(sources[name]) for name in cell.names}
    with _one_thread():
        return play_chunk(cell, agents, chunk)


@cache
def _load_once(source: str) -> Agent:
    return load(source)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let NumPy, and torch where anything has loaded it, compute on one thread.

    Jobs are what runs side by side; and how many threads share a product changes its last bits.
    """
    torch: Any = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes started meanwhile never see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- Keeping --------------------------------------------------------------------------------------


class LeftoversError(ValueError):
    """Results that are there belong to another request; the message says what to do."""


class Kept:
    """partial.jsonl: the finished jobs of one request, a line each; the first is its fingerprint.

    Args:
        path: the file, there or not.
        fingerprint: what tells the request from all others.

    Attributes:
        results: the finished jobs with their results.

    Raises `LeftoversError` where the file is another request's.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        header = _line({"request": fingerprint})
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]  # a kill can have cut the last line off
        if whole and not whole.startswith(header):
            raise LeftoversError(
                f"{path} holds finished jobs of another evaluation (or of other models or code):"
                " go on with that one, delete the file, or give another --out"
            )
        lines = [json.loads(line) for line in whole[len(header) :].splitlines()]
        self.results = {Job(line["cell"], line["chunk"]): line["result"] for line in lines}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._file.truncate(len(whole))
        if not whole:
            self._append(header)

    def add(self, job: Job, result: Result) -> None:
        """Keep a finished job; it is on the disk when this returns."""
        self.results[job] = result
        self._append(_line({**job._asdict(), "result": result}))

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file and leave it for the next time."""
        self._file.close()

    def remove(self) -> None:
        """Delete the file: its results are elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
