"""docs/reference/client-defects.md, from the table: `python -m broker_client.defects.reference_page` prints it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from broker_client.defects import DEFECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_client.defects.defect import Defect

__all__ = ["reference_page"]

INTRODUCTION: Final = """\
# Client defects

`make docs` writes this page from the code. Each defect is a documented bug of a Kafka client. Our producer and consumer
can have it in a scenario, to show what it does to the data, and how a check finds it. None has one by default, and
`Producer`, `Consumer` and `Admin` have no option for them: `ProducerCore(..., defects=("no-mute",))` and
`ClientCore(..., defects=...)` do. [Add a client defect](../design/add-a-client-defect.md) shows how one is made.
"""


def reference_page() -> str:
    """Return the page in Markdown."""
    return "\n".join([INTRODUCTION, *_table(), *_sections()])


def _table() -> Iterator[str]:
    yield "| defect | scenario | what happens |"
    yield "|---|---|---|"
    for defect in _sorted():
        yield f"| [`{defect.name}`](#{defect.name}) | {_quoted(defect.anomalies)} | {_first_line(defect)} |"
    yield ""


def _sections() -> Iterator[str]:
    for defect in _sorted():
        yield f"## {defect.name}\n"
        yield f"{defect.lesson.strip()}\n"
        yield f"Clients: {defect.affected}. Source: {defect.source}. Parts: {_quoted(defect.parts)}.\n"


def _sorted() -> list[Defect]:
    return sorted(DEFECTS.values(), key=lambda defect: defect.name)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _first_line(defect: Defect) -> str:
    return defect.lesson.partition("\n\n")[0].strip().replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(reference_page())
