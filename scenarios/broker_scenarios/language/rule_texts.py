"""The rules of scenario files as text, for reports and the trace of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["rule_text"]

_TEXTS_KEPT: Final = 1024
_texts: Final[dict[str, str]] = {}
"""The text of each rule: the seeds of a sweep have the same few rules."""


def rule_text(rule: Mapping[str, Any]) -> str:
    """Return a rule in one line of YAML, without its braces."""
    key = repr(rule)
    text = _texts.get(key)
    if text is None:
        if len(_texts) >= _TEXTS_KEPT:
            _texts.clear()
        dumped = yaml.safe_dump(dict(rule), default_flow_style=True, sort_keys=False, width=10_000)
        text = _texts[key] = dumped.strip()[1:-1]
    return text
