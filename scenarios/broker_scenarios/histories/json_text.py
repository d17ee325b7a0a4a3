"""The JSON of promises and logs: an object that has a key twice is refused, as in YAML, for one value would be lost."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["DuplicateKeyError", "parse_json"]


class DuplicateKeyError(ValueError):
    """An object of a JSON text has a key twice."""


def parse_json(text: str) -> Any:
    """Return the value of a text. Raises ValueError: it is not JSON, DuplicateKeyError: an object has a key twice."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateKeyError(f"{next(name for name in found if names.count(name) > 1)!r} is there twice")
    return found
