"""Documents of headings, text, tables and pictures, as one static page or as Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fff; --faint: #5c5f66;
  --line: #d8dade; --head: #f1f2f4; --link: #1a5fb4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6ea; --paper: #17181b; --faint: #a3a6ad; --line: #3a3d43; --head: #24262b;
    --link: #8ab8f5; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 84rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.3rem; margin-top: 2.5rem; padding-top: .5rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .3rem; }
p { max-width: 46rem; margin: .4rem 0; color: var(--faint); }
nav ul { padding-left: 1.2rem; }
a { color: var(--link); }
.box { overflow-x: auto; max-width: 100%; width: fit-content; margin: .7rem 0;
  border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .65rem; text-align: right; white-space: nowrap;
  overflow-wrap: normal; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--head); font-weight: 600; }
.words { text-align: left; }
th:first-child { position: sticky; left: 0; background: var(--paper); font-weight: 600; }
thead th:first-child { background: var(--head); }
.picture { background: #fff; }
.picture img { display: block; max-width: none; }
wbr { display: none; }
@media (max-width: 40rem) {
  wbr { display: inline; }
  th, td { padding: .3rem .4rem; }
  table { font-size: .8rem; }
  .words { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; }
  th.words:first-child { max-width: 8rem; }
}
"""
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
"""
#: A cell of figures alone.
FIGURES = re.compile(r"(?:[-\d.,() x]|to)*")


@dataclass(frozen=True)
class Heading:
    """The heading of a section (level 2) or of a part of one (level 3)."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; the first cell of every row is what the row is about."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A drawing, with what it shows in words; a Markdown document leaves it out."""

    svg: str
    alt: str


Block = Heading | Text | Table | Picture


def html(title: str, blocks: Sequence[Block]) -> str:
    """Return one page that needs nothing beside itself."""
    sections = [block for block in blocks if isinstance(block, Heading) and block.level == 2]
    parts = [HEAD, f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"]
    parts.append(f"<h1>{escape(title)}</h1>\n")
    if len(sections) > 1:
        links = (
            f'<li><a href="#part-{number}">{escape(heading.text)}</a></li>\n'
            for number, heading in enumerate(sections)
        )
        parts.append(f"<nav><ul>\n{''.join(links)}</ul></nav>\n")
    section = 0
    for block in blocks:
        anchor = ""
        if isinstance(block, Heading) and block.level == 2:
            anchor, section = f' id="part-{section}"', section + 1
        parts.append(_html(block, anchor))
    return "".join([*parts, "</body>\n</html>\n"])


def _html(block: Block, anchor: str) -> str:
    """Return one block of a page."""
    if isinstance(block, Heading):
        return f"<h{block.level}{anchor}>{escape(block.text)}</h{block.level}>\n"
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>\n"
    if isinstance(block, Picture):
        data = base64.b64encode(block.svg.encode()).decode()
        image = f'<img alt="{escape(block.alt)}" src="data:image/svg+xml;base64,{data}">'
        return f'<div class="box picture" tabindex="0">{image}</div>\n'
    return _table(block)


def _table(table: Table) -> str:
    """Return a table that scrolls inside its box: figures stand to the right, words to the left."""
    words = [
        not place or not all(FIGURES.fullmatch(row[place]) for row in table.rows)
        for place in range(len(table.columns))
    ]
    kinds = [' class="words"' if is_words else "" for is_words in words]
    head = "".join(
        f'<th scope="col"{kind}>{escape(column)}</th>'
        for kind, column in zip(kinds, table.columns, strict=True)
    )
    rows = "".join(
        f'<tr><th scope="row"{kinds[0]}>{_breakable(first)}</th>'
        + "".join(
            f"<td{kind}>{_breakable(text)}</td>" for kind, text in zip(kinds[1:], rest, strict=True)
        )
        + "</tr>\n"
        for first, *rest in table.rows
    )
    return (
        f'<div class="box" tabindex="0"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _breakable(text: str) -> str:
    """Return text that a narrow screen breaks where its words end."""
    return re.sub("([_/])", r"\1<wbr>", escape(text))


def markdown(title: str, blocks: Sequence[Block]) -> str:
    """Return the headings, the text and the tables as Markdown."""
    parts = [f"# {_plain(title)}\n"]
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {_plain(block.text)}\n")
        elif isinstance(block, Text):
            parts.append(f"{_plain(block.text)}\n")
        elif isinstance(block, Table):
            lines = [block.columns, ["---"] * len(block.columns), *block.rows]
            parts.append("".join(f"| {' | '.join(map(_plain, line))} |\n" for line in lines))
    return "\n".join(parts)


def _plain(text: str) -> str:
    r"""Return text that Markdown shows as it is: `_` inside words, as in names, needs no care."""
    return re.sub(r"([\\`*|\[\]<&])", r"\\\1", text)
