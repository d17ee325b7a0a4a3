"""Feature levels and their names (KIP-584, KIP-778): metadata.version 30 is 4.3-IV0. Mirrors MetadataVersion."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA_VERSION: Final = "metadata.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevel:
    """One level. `name` is that of a metadata.version alone; the others have the metadata.version that brought them."""

    level: int
    name: str | None
    from_metadata_version: str | None
    needs: Mapping[str, int]


def levels() -> Mapping[str, tuple[FeatureLevel, ...]]:
    """Each feature that Kafka 4.3.1 knows, with its levels ascending."""
    return _levels()


def level_text(feature: str, level: int) -> str:
    """A level with its name where it has one: `30 (4.3-IV0)`."""
    for known in levels().get(feature, ()):
        if known.level == level and known.name:
            return f"{level} ({known.name})"
    return str(level)


@cache
def _levels() -> Mapping[str, tuple[FeatureLevel, ...]]:
    text = files("protocol_specs").joinpath("data/features.json").read_text("utf-8")
    return MappingProxyType(
        {
            feature: tuple(
                FeatureLevel(
                    level=entry["level"],
                    name=entry.get("name"),
                    from_metadata_version=entry.get("from_metadata_version"),
                    needs=MappingProxyType(entry.get("needs", {})),
                )
                for entry in entries
            )
            for feature, entries in json.loads(text).items()
        }
    )
