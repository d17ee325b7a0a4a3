"""What the real brokers answered, kept as one compressed JSON file a release: case name -> transcript."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


@cache
def recorded(release: str) -> dict[str, list[dict[str, Any]]]:
    """Every recorded transcript of a release."""
    path = FOLDER / f"{release}.json.gz"
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        loaded: dict[str, list[dict[str, Any]]] = json.load(file)
    return loaded


def record(release: str, transcripts: dict[str, list[dict[str, Any]]]) -> None:
    """Replace the recording of a release; equal transcripts make equal bytes."""
    text = json.dumps(transcripts, indent=0, sort_keys=True)
    (FOLDER / f"{release}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    recorded.cache_clear()
