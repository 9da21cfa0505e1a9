"""A training run: its directory, progress, checkpoints, metrics and the table at the end."""

from __future__ import annotations

import csv
import io
import os
import shutil
import signal
import sys
import time
from collections import deque
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agents import load
from cheat_env.files import write, write_text
from train import evaluate, tables
from train.collect import collectors_at
from train.config import Config, ConfigError, dump
from train.panel import Panel, planned, score
from train.rollout import Played
from train.selfplay import Metrics, SelfPlay

#: Updates over which the displayed shares are taken.
WINDOW = 50
#: Seconds between two lines of progress.
LINE_SECONDS = 30
CHECKPOINTS_KEPT = 2


class Interrupt:
    """Notes the first Ctrl-C, so that the training can end cleanly; the second ends it at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


class Run:
    """A training run in its directory.

    Args:
        config: the resolved config.
        resume: go on from the directory's last checkpoint.
        console: where to print.
        cluster: the address of the Ray cluster that plays the tables; empty: this process does.

    Raises `ConfigError` where the directory is taken or can't be written.
    """

    def __init__(self, config: Config, resume: bool, console: Console, cluster: str = "") -> None:
        self.config = config
        self.cluster = cluster
        self.console = console
        self.directory = config.run_directory
        self.window: deque[tuple[Played, int, float]] = deque(maxlen=WINDOW)
        checkpoints = self.checkpoints()
        if not resume and self.directory.exists():
            raise ConfigError(
                f"name {self.directory.name!r}: {self.directory} exists;"
                f" give another --name, or --resume {self.directory}"
            )
        self.training = SelfPlay(config, collectors_at(cluster))
        if resume and checkpoints:  # a run that was killed before its first begins anew
            self.training.restore(checkpoints[-1])
        try:
            write_text(self.directory / "config.yaml", dump(config))
        except OSError as error:
            raise ConfigError(f"output.directory {config.output.directory!r}: {error}") from None
        decisions = self.training.decisions
        self.metrics = MetricsFile(self.directory / "metrics.csv", decisions)
        self.panel = Panel(config) if config.evaluation.every else None
        self.results = MetricsFile(self.directory / "panel.csv", decisions)
        self.writer = _tensorboard(self.directory) if config.output.tensorboard else None

    def checkpoints(self) -> list[Path]:
        """Return the complete checkpoints, oldest first."""
        return sorted((self.directory / "checkpoints").glob("[0-9]*"))

    def train(self) -> bool:
        """Train to the end; returns False where Ctrl-C came first. Leaves a checkpoint."""
        training, total = self.training, self.config.learner.total_decisions
        start = time.monotonic() - training.seconds
        saved = said = time.monotonic()
        self.console.print(f"training {self.directory} to {total:,} decisions")
        with Interrupt() as interrupt, self._progress() as progress:
            task = progress.add_task("", total=total, completed=training.decisions, note="")
            while training.decisions < total and not interrupt.asked:
                began, before = time.monotonic(), training.decisions
                metrics, played = training.iterate()
                self._look(before)
                now = time.monotonic()
                training.seconds = now - start
                self.window.append((played, training.decisions - before, now - began))
                self._log(metrics)
                progress.update(task, completed=training.decisions, note=self._note())
                if now - said > LINE_SECONDS:
                    self.console.print(self._line(), soft_wrap=True)
                    said = now
                if now - saved > 60 * self.config.output.checkpoint_minutes:
                    self.checkpoint()
                    saved = now
        self.checkpoint()
        write(self.directory / "model.zip", training.save_model)
        if training.critic:
            write(self.directory / "critic.pt", training.critic.save)
        self.metrics.close()
        self.results.close()
        if self.writer:
            self.writer.close()
        return training.decisions >= total

    def checkpoint(self) -> None:
        """Write a checkpoint, whole or not at all, and drop the oldest."""
        place = self.directory / "checkpoints" / f"{self.training.decisions:012d}"
        for killed in place.parent.glob(".unfinished.*"):
            shutil.rmtree(killed, ignore_errors=True)
        unfinished = place.with_name(f".unfinished.{os.getpid()}")
        unfinished.mkdir(parents=True)
        self.training.save(unfinished)
        self.metrics.flush()
        self.results.flush()
        if place.exists():
            shutil.rmtree(unfinished)
        else:
            unfinished.replace(place)
        for old in self.checkpoints()[:-CHECKPOINTS_KEPT]:
            shutil.rmtree(old)

    def _look(self, before: int) -> None:
        """Keep a snapshot and play against the panel where the last update came past their time."""
        training, c = self.training, self.config
        if _passed(before, training.decisions, c.output.snapshots_every):
            name = f"{training.decisions:012d}.zip"
            write(self.directory / "snapshots" / name, training.save_model)
        if self.panel and _passed(before, training.decisions, c.evaluation.every):
            found = self.panel.measure(training.policy)
            if score(found) > max((float(row["score"]) for row in self.results.rows), default=-9.0):
                write(self.directory / "best.zip", training.save_model)
            row = {"decisions": training.decisions, "seconds": round(training.seconds, 2)}
            self.results.add({**row, "score": score(found), **found})
            if self.writer:
                for name, value in found.items():
                    name = name.replace(" ", "_")
                    self.writer.add_scalar(f"panel/{name}", value, training.decisions)

    def evaluate(self) -> None:
        """Play the trained policy against the config's opponents; print and write the table."""
        asked = self.config.evaluation
        model = str(self.directory / "model.zip")
        name = model if self.directory.name in asked.against else self.directory.name
        against = list(dict.fromkeys(asked.against))
        evaluation = planned(self.config.game, name, against, asked.deals, asked.seed)
        evaluation.sources[name] = model
        document = evaluate.evaluate(
            evaluation,
            {name: load(source) for name, source in evaluation.sources.items()},
            self.config.learner.threads,
            console=self.console,
            cluster=self.cluster,
        )
        evaluate.write(document, self.directory)
        tables.show(tables.sections(document), self.console)

    def recent(self) -> tuple[Played, float]:
        """Return what ended in the last updates, and decisions per second over them."""
        played = Played(len(self.training.names))
        for part, _, _ in self.window:
            played.add(part)
        decisions = sum(count for _, count, _ in self.window)
        return played, decisions / max(sum(seconds for _, _, seconds in self.window), 1e-9)

    def _note(self) -> str:
        """Return what stands beside the bar: speed, truncated deals, deals won against rules."""
        played, speed = self.recent()
        won = played.won.sum() / max(played.against.sum(), 1)
        truncated = played.truncated / max(played.deals, 1)
        return f"{speed:,.0f}/s  truncated {100 * truncated:.1f}%  won {100 * won:.0f}%"

    def _line(self) -> str:
        """Return a line of progress: the note, and the share of deals won against each rule."""
        names, shares = self.training.names, self.recent()[0].shares()
        won = ", ".join(
            f"{name} {100 * share:.0f}"
            for name, share in zip(names, shares, strict=True)
            if np.isfinite(share)
        )
        return f"{self.training.decisions:>12,}  {self._note()}{': ' if won else ''}{won}"

    def _log(self, metrics: Metrics) -> None:
        training = self.training
        played, speed = self.recent()
        shares = {
            f"won/{name.replace(' ', '_')}": float(share)
            for name, share in zip(training.names, played.shares(), strict=True)
        }
        row = {
            "decisions": training.decisions,
            "updates": training.updates,
            "seconds": round(training.seconds, 2),
            "decisions_per_second": round(speed),
            "memory_mb": _most_memory(),
            "deals": played.deals,
            "truncated": played.truncated / max(played.deals, 1),
            **shares,
            **metrics,
        }
        self.metrics.add(row)
        if self.writer:
            for name, value in row.items():
                self.writer.add_scalar(f"train/{name}", value, training.decisions)

    def _progress(self) -> Progress:
        return Progress(
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:.0f}%"),
            TimeRemainingColumn(),
            TextColumn("left "),
            TextColumn("{task.fields[note]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )


class MetricsFile:
    """A CSV file with one row for some updates; rows after the resumed checkpoint are dropped."""

    def __init__(self, path: Path, decisions: int) -> None:
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            with path.open(newline="") as file:
                rows = csv.DictReader(file)
                self.rows = [row for row in rows if int(row["decisions"]) <= decisions]
        text = io.StringIO(newline="")
        if self.rows:
            writer = csv.DictWriter(text, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
        write(path, lambda unfinished: unfinished.write_bytes(text.getvalue().encode()))
        self._file = path.open("a", newline="")

    def add(self, row: dict[str, Any]) -> None:
        """Add a row; the first one names the columns."""
        writer = csv.DictWriter(self._file, list(row))
        if not self.rows:
            writer.writeheader()
        writer.writerow(row)
        self.rows.append(row)

    def flush(self) -> None:
        """Bring what was added to the disk."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _most_memory() -> int:
    """Return the most memory that this process has had, in MB; 0 where nobody tells."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def free_name(directory: Path, name: str) -> str:
    """Return a name, with a number where a run in the directory has it already."""
    names = [name, *(f"{name}-{i}" for i in range(2, 10_000))]
    return next(n for n in names if not (directory / n).exists())


def _passed(before: int, after: int, every: int) -> bool:
    """Say whether a count came past a multiple of `every`; 0 has none."""
    return every > 0 and after // every > before // every


def _tensorboard(directory: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(directory / "tensorboard"))
