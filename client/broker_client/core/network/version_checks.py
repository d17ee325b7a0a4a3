"""Finds the versions of a node that may be too old to report them: brokers before 0.10 have no ApiVersions (KIP-35).

A broker of 0.8 closes the connection on ApiVersions; one of 0.9 is silent, and responds to the request behind it. A
lost connection or a slow broker looks the same, so an old broker has to prove itself: it ignores versions, and responds
to Metadata of version 1 in the layout of version 0. After a close the next connection begins with that Metadata, which
names no topic (an old broker returns all); after a silence it is sent behind. A proven age is kept for the address for
a time, as librdkafka keeps its broker.version.fallback; Kafka's own client knows no broker before 0.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, reduce
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.network.api_versions import NodeApiVersions
from protocol_specs import releases
from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import decode_response
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.version_range import VersionRange

__all__ = ["PROBE", "PROBE_VERSION", "VersionCheck", "VersionChecks", "layout_of", "versions_before_api_versions"]

NEVER_MS: Final = 1 << 62
SILENCE_MS: Final = 1_000
"""How long ApiVersions may stay without a response before the node gets the probe, which every broker serves."""
SILENCE_AMONG_OLD_MS: Final = 100
"""The same where another node was proven old: a cluster is mostly of one age."""
OLD_BROKER_KEPT_MS: Final = 1_200_000
"""How long an address counts as an old broker's: after that its versions are requested again."""
ADDRESSES_MAX: Final = 1_000
"""How many addresses are suspected, or known, at once."""
PROBE: Final = MetadataRequest(topics=[])
PROBE_VERSION: Final = 1
_OLDEST_VERSION: Final = 0
_FIRST_WITH_API_VERSIONS: Final = (0, 10)
_log = Logger()


class VersionCheck(Enum):
    """The first request on a new connection."""

    REQUEST = auto()
    """ApiVersions."""
    PROBE = auto()
    """The probe, to which every broker responds in the layout of its age."""
    ASSUME = auto()
    """Nothing: the node is known to have no ApiVersions."""


class _Stage(Enum):
    CONNECTING = auto()
    REQUESTED = auto()
    PROBED = auto()
    REQUESTED_AGAIN = auto()
    PROBED_BEHIND = auto()
    PASSED_OVER = auto()


@dataclass(slots=True)
class _Check:
    """One connection, up to the moment when its node's versions are known."""

    address: tuple[str, int]
    stage: _Stage = _Stage.CONNECTING
    requested_ms: int = 0


class VersionChecks:
    """By node id while a connection is checked, by address what was learnt.

    `unproven` are connections that rely on a proven age and have had no response yet.
    """

    __slots__ = ("_known", "_suspected", "pending", "unproven")

    def __init__(self) -> None:
        self.pending: dict[int, _Check] = {}
        self.unproven: dict[int, tuple[str, int]] = {}
        self._suspected: dict[tuple[str, int], None] = {}
        self._known: dict[tuple[str, int], int] = {}

    def connecting(self, node_id: int, address: tuple[str, int]) -> None:
        """A connection begins."""
        self.pending[node_id] = _Check(address)

    def begin(self, node_id: int, now_ms: int) -> VersionCheck:
        """The connection is there: what to do first."""
        check = self.pending[node_id]
        if now_ms < self._known.get(check.address, 0):
            del self.pending[node_id]
            self.unproven[node_id] = check.address
            return VersionCheck.ASSUME
        if check.address in self._suspected:
            check.stage = _Stage.PROBED
            return VersionCheck.PROBE
        return VersionCheck.REQUEST

    def requested(self, node_id: int, now_ms: int) -> None:
        """ApiVersions was sent."""
        check = self.pending[node_id]
        if check.stage is not _Stage.REQUESTED_AGAIN:
            check.stage = _Stage.REQUESTED
        check.requested_ms = now_ms

    def responded(self, node_id: int) -> None:
        """ApiVersions has a response: the node is new enough."""
        check = self.pending.pop(node_id, None)
        if check is not None:
            self._suspected.pop(check.address, None)
            self._known.pop(check.address, None)

    def silent_nodes(self, now_ms: int) -> list[int]:
        """The nodes whose response to ApiVersions is overdue, and that have not been probed."""
        return [
            node_id
            for node_id, check in self.pending.items()
            if check.stage in (_Stage.REQUESTED, _Stage.REQUESTED_AGAIN)
            and now_ms - check.requested_ms >= self._silence_ms
        ]

    def probed_behind(self, node_id: int) -> None:
        """The probe was sent behind ApiVersions."""
        self.pending[node_id].stage = _Stage.PROBED_BEHIND

    def next_silence_ms(self, now_ms: int) -> int:
        """How long until a node has been silent for too long."""
        return min(
            (
                max(check.requested_ms + self._silence_ms - now_ms, 0)
                for check in self.pending.values()
                if check.stage in (_Stage.REQUESTED, _Stage.REQUESTED_AGAIN)
            ),
            default=NEVER_MS,
        )

    def is_probed_behind(self, node_id: int) -> bool:
        """True if the probe was sent behind an ApiVersions without a response."""
        check = self.pending.get(node_id)
        return check is not None and check.stage is _Stage.PROBED_BEHIND

    def passed_over(self, node_id: int) -> None:
        """The probe has a response, and ApiVersions before it has none: the node ignored that."""
        self.pending[node_id].stage = _Stage.PASSED_OVER

    def probe_responded(self, node_id: int, now_ms: int, version: int) -> VersionCheck | None:
        """Return the next step after a response to the probe in the layout of this version; None without one."""
        check = self.pending.get(node_id)
        if check is None or check.stage not in (_Stage.PROBED, _Stage.PASSED_OVER):
            return None
        if version == _OLDEST_VERSION:
            del self.pending[node_id]
            self._learn(check.address, now_ms)
            return VersionCheck.ASSUME
        check.stage = _Stage.REQUESTED_AGAIN
        check.requested_ms = now_ms
        return VersionCheck.REQUEST

    def closed(self, node_id: int, *, unanswered: bool) -> None:
        """The connection is gone; `unanswered`: the other side closed it before it sent its versions."""
        relied_on = self.unproven.pop(node_id, None)
        if relied_on is not None:
            self._known.pop(relied_on, None)
        check = self.pending.pop(node_id, None)
        if check is None or not unanswered:
            return
        if check.stage is _Stage.PROBED:
            self._suspected.pop(check.address, None)
        elif check.stage is not _Stage.CONNECTING:
            self._suspected[check.address] = None
            _drop_oldest(self._suspected)

    @property
    def _silence_ms(self) -> int:
        return SILENCE_AMONG_OLD_MS if self._known else SILENCE_MS

    def _learn(self, address: tuple[str, int], now_ms: int) -> None:
        _log.info("{host}:{port} is a broker before 0.10: it has no ApiVersions", host=address[0], port=address[1])
        self._suspected.pop(address, None)
        self._known.pop(address, None)
        self._known[address] = now_ms + OLD_BROKER_KEPT_MS
        _drop_oldest(self._known)


def layout_of(payload: bytes) -> int | None:
    """The version in whose layout a response fits the probe; None if it does not."""
    for version in (PROBE_VERSION, _OLDEST_VERSION):
        try:
            decode_response(MetadataResponse, version, payload)
        except MessageDecodeError:
            continue
        return version
    return None


@cache
def versions_before_api_versions() -> NodeApiVersions:
    """The versions of every broker before 0.10: 0.8 and 0.9 look alike, so only those that both have."""
    tables: list[Mapping[int, VersionRange]] = [
        {int(key): versions for key, versions in release.api_versions.items()}
        for release in map(releases.get, releases.names())
        if release.version < _FIRST_WITH_API_VERSIONS
    ]
    return NodeApiVersions(reduce(_in_both, tables))


def _in_both(one: Mapping[int, VersionRange], other: Mapping[int, VersionRange]) -> Mapping[int, VersionRange]:
    return {key: versions.intersection(other[key]) for key, versions in one.items() if key in other}


def _drop_oldest(addresses: dict[tuple[str, int], None] | dict[tuple[str, int], int]) -> None:
    while len(addresses) > ADDRESSES_MAX:
        del addresses[next(iter(addresses))]
