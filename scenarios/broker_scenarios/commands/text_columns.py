"""Tables as text for a terminal of 100 columns: no colour, no frame, the last column is wrapped."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH: Final = 100
GAP: Final = "  "
LAST_COLUMN_WIDTH_MIN: Final = 24
CELL_WIDTH_MIN: Final = 12


def columns(
    rows: Sequence[Sequence[str]], *, indent: str = "", width: int = WIDTH, last_width_min: int = LAST_COLUMN_WIDTH_MIN
) -> list[str]:
    """Return lines with each column as wide as its longest cell; all rows have as many cells as the first.

    If that leaves less than `last_width_min` for the last column, the widest but the first is narrowed, and a row
    continues below a cell that is longer than its column.
    """
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    last_width = min(last_width_min, max(len(row[-1]) for row in rows))
    over = len(indent) + sum(widths) + len(GAP) * len(widths) + last_width - width
    while over > 0 and (wide := [place for place in range(1, len(widths)) if widths[place] > CELL_WIDTH_MIN]):
        widths[max(wide, key=widths.__getitem__)] -= 1
        over -= 1
    return [line for row in rows for line in _row_lines(row, widths, indent, width)]


def _row_lines(row: Sequence[str], widths: Sequence[int], indent: str, width: int) -> Iterator[str]:
    *cells, last = row
    line = indent
    for cell, wide in zip(cells, widths, strict=True):
        if len(cell) > wide:
            yield line + cell
            line = " " * (len(line) + wide + len(GAP))
        else:
            line += f"{cell:<{wide}}{GAP}"
    wrapped = textwrap.wrap(
        last, max(width - len(line), LAST_COLUMN_WIDTH_MIN), break_long_words=False, break_on_hyphens=False
    ) or [""]
    yield f"{line}{wrapped[0]}".rstrip()
    yield from (" " * len(line) + rest for rest in wrapped[1:])


def paragraph(text: str, *, indent: str = "", width: int = WIDTH) -> list[str]:
    """Text broken into lines of at most `width`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
