"""The history of one API: the versions that each release lists, by listener (KIP-35, KIP-896)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs import releases
from protocol_specs.releases import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.api_key import ApiKey
    from protocol_specs.version_range import VersionRange

LISTENERS: Final = ("zookeeper", "broker", "controller")
"""The kinds of listeners: of a ZooKeeper broker, a KRaft broker, a KRaft controller."""

LISTED_BUT_REFUSED: Final[Mapping[int, str]] = {
    0: "4.x lists Produce from version 0, which librdkafka requires, but closes the connection on versions 0 to 2",
}
"""Notes beside the tables: versions that a broker lists but does not serve (KIP-896)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """The versions of an API that one release lists, by listener; `changed` listeners differ from the release before.

    `listeners` are those that the release has, whether or not they list the API.
    """

    release: str
    listeners: tuple[str, ...]
    versions: Mapping[str, VersionRange]
    changed: tuple[str, ...]


def rows(api_key: ApiKey) -> list[ReleaseRow]:
    """One row per release, oldest first, also for those that do not list the API."""
    found: list[ReleaseRow] = []
    for name in releases.names():
        tables = {
            listener_name(release.mode, listener): table.api_versions
            for release in releases.modes(name)
            for listener, table in release.listeners.items()
        }
        versions = {who: table[api_key] for who, table in tables.items() if api_key in table}
        before = found[-1].versions if found else {}
        changed = tuple(who for who in LISTENERS if versions.get(who) != before.get(who))
        found.append(ReleaseRow(release=name, listeners=tuple(tables), versions=versions, changed=changed))
    return found


def spans(api_key: ApiKey) -> list[tuple[str, str, Mapping[str, VersionRange]]]:
    """Runs of releases with equal versions: (first release, last release, versions by listener)."""
    found: list[tuple[str, str, Mapping[str, VersionRange]]] = []
    for row in rows(api_key):
        if found and found[-1][2] == row.versions:
            found[-1] = (found[-1][0], row.release, row.versions)
        else:
            found.append((row.release, row.release, row.versions))
    return found


def first_release(api_key: ApiKey, version: int) -> str | None:
    """The oldest release here that lists a version on any listener; None when no table has it."""
    listing = (row.release for row in rows(api_key) if _lists(row, version))
    return next(listing, None)


def last_release(api_key: ApiKey, version: int) -> str | None:
    """The newest release here that lists a version on any listener."""
    return next((row.release for row in reversed(rows(api_key)) if _lists(row, version)), None)


def listener_name(mode: Mode, listener: str) -> str:
    """The name in LISTENERS of a listener of a release in a mode."""
    return "zookeeper" if mode is Mode.ZOOKEEPER else listener


def _lists(row: ReleaseRow, version: int) -> bool:
    return any(version in versions for versions in row.versions.values())
