"""One kind of quota at one node: the limits of clients, and their throttle times. Mirrors ClientQuotaManager.

The quota of a request is that of the narrowest entity: user and client id, user and default client id,
default user and client id, both defaults, user, default user, client id, default client id. All that share the tags of
that entity share one sensor; a client without an id has no quota by client id.

While any kind of entity has a quota, every client is counted, by the tags of the kinds that have one. Before 4.2 a kind
that has had a quota counts until the node stops. Sensors survive the removal of quotas.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from broker_sim.quotas.client_quotas_image import CLIENT_ID, USER
from broker_sim.quotas.rate import UNBOUNDED, Rate, TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.quotas.client_quotas_image import ClientQuotasImage

__all__ = ["ANONYMOUS", "BandwidthQuotaManager", "ClientQuotaManager", "ControllerMutationQuotaManager"]

ANONYMOUS: Final = "ANONYMOUS"
"""The user of a connection that has not authenticated."""
SENSORS_MAX: Final = 10_000
"""The limit of sensors; the least recently used one is removed first (Kafka: after an hour)."""

_DEFAULT: Final = None
_ABSENT: Final = ""
"""A tag that takes no part; no name is empty."""

Tags: TypeAlias = "tuple[str, str | None]"


class _Kinds(Flag):
    """The kinds of entities that have a quota. Mirrors QuotaTypes."""

    NONE = 0
    CLIENT_ID = auto()
    USER = auto()
    USER_AND_CLIENT_ID = auto()


_KINDS: Final = {
    (False, True): _Kinds.CLIENT_ID,
    (True, False): _Kinds.USER,
    (True, True): _Kinds.USER_AND_CLIENT_ID,
}
_Name: TypeAlias = "str | None"
Sensor = TypeVar("Sensor", Rate, TokenBucket)
_TAGS_OF_CLIENT_IDS: Final = (_Kinds.NONE, _Kinds.CLIENT_ID)


class ClientQuotaManager(Generic[Sensor]):
    """The quotas of one key (such as `producer_byte_rate`), taken from each image of the metadata."""

    def __init__(self, key: str, make_sensor: Callable[[float], Sensor], *, kinds_stay: bool) -> None:
        """`kinds_stay` is True if a kind of entity counts beyond the removal of its last quota."""
        self.key = key
        self.enabled = False
        """True if clients are counted."""
        self._kinds_stay = kinds_stay
        self._kinds = _Kinds.NONE
        self._make_sensor: Callable[[float], Sensor] = make_sensor
        # By user and client id: None is the default, "" is absent.
        self._quotas: dict[tuple[_Name, _Name], float] = {}
        self._sensors: dict[Tags, Sensor] = {}

    def apply(self, image: ClientQuotasImage) -> None:
        """Take the quotas of an image; the counts stay."""
        self._quotas = {}
        if not self._kinds_stay:
            self._kinds = _Kinds.NONE
        for entity, quotas in image.items():
            names = entity.names
            kind = _KINDS.get((USER in names, CLIENT_ID in names))
            if self.key in quotas and kind is not None:
                self._quotas[names.get(USER, _ABSENT), names.get(CLIENT_ID, _ABSENT)] = quotas[self.key]
                self._kinds |= kind
        self.enabled = self._kinds is not _Kinds.NONE
        for tags, sensor in self._sensors.items():
            sensor.bound = self._limit(tags)

    def limit(self, user: str, client_id: str | None) -> float:
        """The quota that holds for a client, UNBOUNDED when none does."""
        return self._limit(self._tags(user, client_id))

    def sensor(self, user: str, client_id: str | None) -> Sensor:
        """Return the counter of this client, shared by all clients with the same tags."""
        tags = self._tags(user, client_id)
        sensor = self._sensors.pop(tags, None)
        if sensor is None:
            if len(self._sensors) >= SENSORS_MAX:
                del self._sensors[next(iter(self._sensors))]
            sensor = self._make_sensor(self._limit(tags))
        self._sensors[tags] = sensor
        return sensor

    def _tags(self, user: str, client_id: str | None) -> Tags:
        """Mirrors quotaMetricTags: the entities decide where several kinds have had quotas, else the kind."""
        if self._kinds in _TAGS_OF_CLIENT_IDS:
            return _ABSENT, client_id
        if self._kinds is _Kinds.USER:
            return user, _ABSENT
        if self._kinds is _Kinds.USER_AND_CLIENT_ID:
            return user, client_id
        # The empty client id is a name here, unlike "" in the table, which stands for an entity without one.
        quotas = self._quotas
        if client_id and (user, client_id) in quotas:
            return user, client_id
        if (user, _DEFAULT) in quotas:
            return user, client_id
        if (user, _ABSENT) in quotas:
            return user, _ABSENT
        if client_id and (_DEFAULT, client_id) in quotas:
            return user, client_id
        if (_DEFAULT, _DEFAULT) in quotas:
            return user, client_id
        if (_DEFAULT, _ABSENT) in quotas:
            return user, _ABSENT
        return _ABSENT, client_id

    def _limit(self, tags: Tags) -> float:
        user, client_id = tags
        if client_id is None:
            return UNBOUNDED
        candidates: tuple[tuple[_Name, _Name], ...] = ()
        if user and client_id:
            candidates = ((user, client_id), (user, _DEFAULT), (_DEFAULT, client_id), (_DEFAULT, _DEFAULT))
        elif user:
            candidates = ((user, _ABSENT), (_DEFAULT, _ABSENT))
        elif client_id:
            candidates = ((_ABSENT, client_id), (_ABSENT, _DEFAULT))
        for candidate in candidates:
            if candidate in self._quotas:
                return self._quotas[candidate]
        return UNBOUNDED


class BandwidthQuotaManager(ClientQuotaManager[Rate]):
    """Bytes, or percents of a handler's time, per second over `samples` windows; `bounded` cuts delays to a window."""

    def __init__(self, key: str, *, samples: int, window_s: int, kinds_stay: bool, bounded: bool = False) -> None:
        super().__init__(
            key,
            lambda bound: Rate(bound=bound, samples=samples, window_ms=window_s * 1000),
            kinds_stay=kinds_stay,
        )
        self._windows_s = (samples - 1) * window_s
        self._throttle_ms_max = window_s * 1000 if bounded else None

    def record_and_get_throttle_ms(self, user: str, client_id: str | None, value: float, now_ms: int) -> int:
        """Count, and return how long the client has to wait; 0 without a quota."""
        if not self.enabled:
            return 0
        sensor = self.sensor(user, client_id)
        sensor.record(value, now_ms)
        throttle_ms = sensor.throttle_ms(now_ms)
        return throttle_ms if self._throttle_ms_max is None else min(throttle_ms, self._throttle_ms_max)

    def unrecord(self, user: str, client_id: str | None, value: float, now_ms: int) -> None:
        """Revert a count: the response is not sent now."""
        self.sensor(user, client_id).record(-value, now_ms)

    def max_value_in_window(self, user: str, client_id: str | None) -> float:
        """Return the most that a client may have at once; UNBOUNDED without a quota."""
        return self.limit(user, client_id) * self._windows_s if self.enabled else UNBOUNDED

    def rates(self, now_ms: int) -> Mapping[Tags, float]:
        """The rate of every sensor now."""
        return {tags: sensor.measure(now_ms) for tags, sensor in self._sensors.items()}


class ControllerMutationQuotaManager(ClientQuotaManager[TokenBucket]):
    """Partitions created and deleted per second (KIP-599)."""

    def __init__(self, *, samples: int, window_s: int, kinds_stay: bool) -> None:
        super().__init__(
            "controller_mutation_rate",
            lambda bound: TokenBucket(bound=bound, samples=samples, window_ms=window_s * 1000),
            kinds_stay=kinds_stay,
        )
