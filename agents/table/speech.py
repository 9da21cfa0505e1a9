"""The words of the table in a language: one file each in `words/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

WORDS = Path(__file__).with_name("words")
LANGUAGES = ("en", "fr", "ru")
#: How much of an opponent's name is shown.
LONGEST_NAME = 14


class Speech:
    """The words of a language.

    A sentence about a seat has two forms: `you`, and `other` with a place for `{who}`.
    """

    def __init__(self, language: str) -> None:
        text = (WORDS / f"{language}.yaml").read_text("utf-8")
        self._words: dict[str, Any] = yaml.safe_load(text)

    def say(self, key: str, **values: Any) -> str:
        """Return a sentence of its own."""
        return str(self._words[key]).format(**values)

    def about(self, key: str, who: str | None, **values: Any) -> str:
        """Return a sentence about a seat by its name, or about the person where it has none."""
        forms = self._words[key]
        return str(forms["you"] if who is None else forms["other"]).format(who=who, **values)

    def cards(self, text: str) -> str:
        """Return cards or ranks as this language's cards show them."""
        faces = self._words["faces"]
        return " ".join(faces.get(card, card) for card in text.split())

    def key(self, character: str) -> str:
        """Return the key that a character means, whatever keyboard it comes from."""
        return str(self._words["keyboard"].get(character, character))


def short(name: str) -> str:
    """Return an opponent's name without its settings or folder, as short as the table needs it."""
    plain = Path(name.partition("(")[0]).stem or name
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 1]}…"
