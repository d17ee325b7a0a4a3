"""The ApiVersions responses of brokers of each Kafka release: API versions and features (KIP-35, KIP-584).

The tables in data/releases.json were observed on brokers of those releases (0.8 and 0.9 have no ApiVersions; theirs are
the versions that they parse). A release has a full name, "4.3.1", or a minor version, "4.3", which means its newest
patch. A mode selects ZooKeeper or KRaft brokers, which list different APIs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnknownRelease
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Mapping


class Mode(Enum):
    """The mode of a cluster: metadata in ZooKeeper or in KRaft."""

    ZOOKEEPER = "zk"
    KRAFT = "kraft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The feature section of one ApiVersions version; a finalized range is one level to a KRaft broker."""

    supported: Mapping[str, VersionRange]
    finalized: Mapping[str, VersionRange]
    finalized_epoch_sent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerTable:
    """The response of one listener: its APIs in the order sent, and features by ApiVersions version (3, 4)."""

    api_versions: Mapping[ApiKey, VersionRange]
    features: Mapping[int, Features]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release in one mode. The properties are those of the broker listener."""

    name: str
    mode: Mode
    observed: bool
    listeners: Mapping[str, ListenerTable]

    @property
    def api_versions(self) -> Mapping[ApiKey, VersionRange]:
        """API key to version range, in the order sent."""
        return self.listeners["broker"].api_versions

    @property
    def supported_features(self) -> Mapping[str, VersionRange]:
        """The features in the newest ApiVersions version of the release; empty before 2.4."""
        return _newest(self.listeners["broker"]).supported

    @property
    def finalized_features(self) -> Mapping[str, VersionRange]:
        """The features that a new cluster of this release has finalized."""
        return _newest(self.listeners["broker"]).finalized

    @property
    def version(self) -> tuple[int, ...]:
        """The name as numbers, for comparisons."""
        return _numbers(self.name)


def get(name: str, mode: Mode | None = None) -> Release:
    """Return a release, by default in KRaft mode where it has both. Raises UnknownRelease."""
    modes = _modes(full_name(name))
    if mode is None:
        return modes.get(Mode.KRAFT) or modes[Mode.ZOOKEEPER]
    if mode not in modes:
        raise UnknownRelease(f"{name} in {mode.value} mode", [f"{name} in {known.value} mode" for known in modes])
    return modes[mode]


def full_name(name: str) -> str:
    """Return the full name of a release, without the tables that `get` builds. Raises UnknownRelease."""
    known = _entries()
    full = name if name in known else _newest_patch(name, list(known))
    if full not in known:
        raise UnknownRelease(name, list(known))
    return full


def modes(name: str) -> tuple[Release, ...]:
    """Return a release in each mode that it has, ZooKeeper first; raises UnknownRelease."""
    return tuple(_modes(full_name(name)).values())


def names() -> list[str]:
    """Return the full names of all releases, oldest first."""
    return list(_entries())


_NO_FEATURES: Final = Features(supported={}, finalized={}, finalized_epoch_sent=False)


def _newest(listener: ListenerTable) -> Features:
    return listener.features[max(listener.features)] if listener.features else _NO_FEATURES


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))


def _newest_patch(name: str, known: list[str]) -> str:
    patches = [release for release in known if release.startswith(f"{name}.")]
    return max(patches, key=_numbers) if name.count(".") and patches else name


@cache
def _entries() -> dict[str, list[dict[str, Any]]]:
    """The entries of the table by release, one per mode."""
    text = files("protocol_specs").joinpath("data/releases.json").read_text("utf-8")
    entries: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(text):
        entries.setdefault(entry["release"], []).append(entry)
    return entries


@cache
def _modes(name: str) -> dict[Mode, Release]:
    """The modes of a release; a process uses one release or two of all that there are."""
    return {Mode(entry["mode"]): _release(entry) for entry in _entries()[name]}


def _release(entry: dict[str, Any]) -> Release:
    return Release(
        name=entry["release"],
        mode=Mode(entry["mode"]),
        observed=entry["source"] == "observed",
        listeners=MappingProxyType({name: _listener(raw) for name, raw in entry["listeners"].items()}),
    )


def _listener(raw: dict[str, Any]) -> ListenerTable:
    apis: dict[str, list[int]] = raw["apis"]
    order = raw.get("order_sent", [int(key) for key in apis])
    features = {version: _features(raw[f"v{version}"]) for version in (3, 4) if f"v{version}" in raw}
    return ListenerTable(
        api_versions=MappingProxyType({ApiKey(key): VersionRange(*apis[str(key)]) for key in order}),
        features=MappingProxyType(features),
    )


def _features(raw: dict[str, Any]) -> Features:
    return Features(
        supported=_ranges(raw.get("supported_features", {})),
        finalized=_ranges(raw.get("finalized_features", {})),
        finalized_epoch_sent=raw.get("finalized_features_epoch_sent", False),
    )


def _ranges(raw: dict[str, list[int]]) -> Mapping[str, VersionRange]:
    return MappingProxyType({name: VersionRange(*bounds) for name, bounds in raw.items()})
