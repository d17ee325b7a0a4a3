"""The real brokers' responses: one folder per release, in it one compressed JSON file per module of cases.

A file holds case name -> transcript. There is one file per module, so that the cases of one API can be recorded
beside those of another.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"

Transcripts = dict[str, list[dict[str, Any]]]


@cache
def recorded(release: str) -> Transcripts:
    """Every recorded transcript of a release."""
    found: Transcripts = {}
    for path in sorted((FOLDER / release).glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found.update(json.load(file))
    return found


def record(release: str, module: str, transcripts: Transcripts) -> None:
    """Replace the recording of one module's cases; equal transcripts make equal bytes, none removes the file."""
    path = FOLDER / release / f"{module}.json.gz"
    if transcripts:
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(transcripts, indent=0, sort_keys=True)
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    else:
        path.unlink(missing_ok=True)
    recorded.cache_clear()
