"""The command line of `python -m train`: a file of `configs/`, and keys that change it."""

from __future__ import annotations

from argparse import SUPPRESS
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from jsonargparse import ArgumentError, ArgumentParser

from train.checks import check, refuse_changes
from train.config import Config, ConfigError
from train.jobs import CLUSTER_HELP

C = TypeVar("C", bound=Any)
#: What is no key of a config.
OWN_OPTIONS = ("--config", "--resume", "--cluster")
_HERE = Path(__file__).parent
#: In a wheel beside this file, in the project beside its package.
CONFIGS = next(p for p in (_HERE / "configs", _HERE.parent / "configs") if p.is_dir())


def find_config(name: str) -> Path:
    """Return a config's path: as given, then in `configs/` here, then in the project's own."""
    places = [Path(name), Path("configs") / name, CONFIGS / name]
    for place in places:
        if place.is_file():
            _refuse_shapeless(place)
            return place
    raise ConfigError(f"config {name!r}: not found as given, nor in configs/")


def _refuse_shapeless(path: Path) -> None:
    """Raise `ConfigError` where a file is no YAML, or holds other things than groups of keys."""
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise ConfigError(f"config {str(path)!r}: is not YAML: {said}") from None
    groups = {f.name for f in fields(Config)} - {"name"}
    if not isinstance(found, dict):
        raise ConfigError(f"config {str(path)!r}: must be a mapping of keys, not {found!r:.60}")
    for key, value in found.items():
        if key in groups and not isinstance(value, dict):
            raise ConfigError(f"config {str(path)!r}: {key} {value!r:.60}: must be a mapping")


def parser() -> ArgumentParser:
    """Return the command line of `python -m train`."""
    found = ArgumentParser(
        prog="python -m train",
        description="Train an agent by self-play and evaluate it.",
        exit_on_error=False,
        allow_abbrev=False,
    )
    found.add_argument("--config", action="config", help="a file of configs/, or a path")
    found.add_argument(
        "--resume", default=SUPPRESS, metavar="DIR", help="go on with the run of this directory"
    )
    found.add_argument("--cluster", default=SUPPRESS, metavar="ADDRESS", help=CLUSTER_HELP)
    found.add_class_arguments(Config, as_group=False)
    return found


def parse(arguments: Sequence[str]) -> tuple[Config, Path | None]:
    """Return the config of a command line, and the directory to resume.

    A resumed run starts from its own config; what its checkpoint depends on can't be changed.
    Raises `ConfigError`; exits for --help and --print_config.
    """
    words = split(arguments)
    for i, word in enumerate(words[:-1]):
        if word == "--config":
            words[i + 1] = str(find_config(words[i + 1]))
    directory = value_of("--resume", words)
    if directory is None:
        return _parse(words), None
    resume = Path(directory).resolve()
    saved = resume / "config.yaml"
    if not saved.is_file():
        raise ConfigError(f"resume {resume}: there is no run, or it never began")
    before = _parse(["--config", str(saved)])
    output = replace(before.output, directory=str(resume.parent))
    config = replace(_parse(["--config", str(saved), *words]), name=resume.name, output=output)
    refuse_changes(before, config)
    return config, resume


def value_of(option: str, words: Sequence[str]) -> str | None:
    """Return what follows an option of a command line, or None where it is not there."""
    parts = split(words)
    return parts[parts.index(option) + 1] if option in parts[:-1] else None


def split(words: Sequence[str]) -> list[str]:
    """Return words with "--config=x" as two, so that it is found like "--config x"."""
    found: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        found += [name, value] if equals and name in OWN_OPTIONS else [word]
    return found


def _parse(words: list[str]) -> Config:
    config = made(Config, parser(), words)
    check(config)
    return config


def made(kind: type[C], command: ArgumentParser, words: Sequence[str]) -> C:
    """Return the config of a kind that words make; raises `ConfigError`."""
    try:
        found = command.instantiate(command.parse_args(words))
    except ArgumentError as error:
        raise ConfigError(" ".join(str(error).split())) from None
    return kind(**{field.name: found[field.name] for field in fields(kind)})
