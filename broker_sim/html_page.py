"""A self-contained HTML page with its style and script, in a light and a dark form; it loads nothing."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final

from broker_sim.errors import BrokerSimError
from sim_runtime.spelling import reason_of

__all__ = ["html_page", "page_style", "write_page"]

_STYLE: Final = Path(__file__).with_name("page.css")


def html_page(*, title: str, body: str, style: str = "", script: str = "") -> str:
    """The whole page; `body` is markup, `title` text, `style` comes after the style of all pages."""
    scripted = f"<script>{script}</script>\n" if script else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{page_style()}{style}</style>
</head>
<body>
<main>
{body}
</main>
{scripted}</body>
</html>
"""


def page_style() -> str:
    """The palettes and the layout that all pages share."""
    return _STYLE.read_text(encoding="utf-8")


def write_page(path: Path, page: str, option: str) -> Path:
    """Write a page, folders included; returns the path as it can be opened.

    Raises:
        BrokerSimError: It cannot be written; the text names the path and the `option` of the command line.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BrokerSimError(f"cannot write {path} ({option}): {reason_of(error)}") from error
    return path.resolve()
