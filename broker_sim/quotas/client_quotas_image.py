"""The client quotas in the metadata: entities, their quotas, and the filters of DescribeClientQuotas.

Mirrors ClientQuotasImage, ClientQuotaImage and ClientQuotaEntity (KIP-546). Both are hash tables in Kafka, and
responses list them in the order of the table (`hash_order_by`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypeAlias, TypeVar

from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order_by, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from protocol_specs.messages.describe_client_quotas import ComponentData

__all__ = [
    "CLIENT_ID",
    "IP",
    "NO_CLIENT_QUOTAS",
    "USER",
    "ClientQuotaEntity",
    "ClientQuotaFilter",
    "ClientQuotasImage",
    "FilterRefused",
    "QuotaChange",
]

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

_EXACT: Final = 0
_DEFAULT: Final = 1
_SPECIFIED: Final = 2
_MATCHES: Final = {_EXACT: "MATCH_TYPE_EXACT", _DEFAULT: "MATCH_TYPE_DEFAULT", _SPECIFIED: "MATCH_TYPE_SPECIFIED"}
_DEFAULT_TABLE: Final = 16

T = TypeVar("T")
_Key: TypeAlias = frozenset[tuple[str, str | None]]
Quotas: TypeAlias = "Mapping[str, float]"


@dataclass(frozen=True, slots=True)
class ClientQuotaEntity:
    """The entity of a quota: names by type, None for the default of a type. The order of the types means nothing."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, names: Mapping[str, str | None], *, capacity: int = _DEFAULT_TABLE) -> Self:
        """The entity with its types in the order of Kafka's table of that capacity."""
        order = hash_order_by(names, string_hash, capacity=capacity)
        return cls(tuple((kind, names[kind]) for kind in order))

    @property
    def names(self) -> dict[str, str | None]:
        """Name by type."""
        return dict(self.entries)

    @property
    def key(self) -> _Key:
        """The identity of the entity, independent of the order of its types."""
        return frozenset(self.entries)

    def java_hash(self) -> int:
        """ClientQuotaEntity.hashCode."""
        total = sum(string_hash(kind) ^ (0 if name is None else string_hash(name)) for kind, name in self.entries)
        return 31 + total

    def __str__(self) -> str:
        shown = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in self.entries)
        return f"ClientQuotaEntity(entries={{{shown}}})"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChange:
    """One quota of one entity is set, or with None removed. Mirrors ClientQuotaRecord."""

    entity: ClientQuotaEntity
    key: str
    value: float | None


class FilterRefused(Exception):
    """A filter that DescribeClientQuotas refuses."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(error_code, message)
        self.error_code = error_code
        self.message = message


class ClientQuotaFilter:
    """Select the requested entities.

    Raises:
        FilterRefused: The components are invalid.
    """

    __slots__ = ("_exact", "_specified", "_strict")

    def __init__(self, components: Iterable[ComponentData], *, strict: bool) -> None:
        self._exact: dict[str, str | None] = {}
        self._specified: dict[str, None] = {}
        self._strict = strict
        for component in components:
            self._add(component.entity_type, component.match_type, component.match)
        if self._has(IP) and (self._has(USER) or self._has(CLIENT_ID)):
            message = (
                "Invalid entity filter component combination. IP filter component should not be used with "
                "user or clientId filter component."
            )
            raise FilterRefused(ErrorCode.INVALID_REQUEST, message)

    def matches(self, entity: ClientQuotaEntity) -> bool:
        """Return True if the entity is requested; a strict filter excludes entities with further types."""
        names = entity.names
        if self._strict and len(names) != len(self._exact) + len(self._specified):
            return False
        return all(kind in names and names[kind] == name for kind, name in self._exact.items()) and all(
            kind in names for kind in self._specified
        )

    def _has(self, kind: str) -> bool:
        return kind in self._exact or kind in self._specified

    def _add(self, kind: str, match_type: int, match: str | None) -> None:
        if not kind:
            raise FilterRefused(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if self._has(kind):
            message = f"Entity type {kind} cannot appear more than once in the filter."
            raise FilterRefused(ErrorCode.INVALID_REQUEST, message)
        if kind not in {USER, CLIENT_ID, IP}:
            raise FilterRefused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if match_type not in _MATCHES:
            raise FilterRefused(ErrorCode.INVALID_REQUEST, f"Unknown match type {match_type}")
        if match_type == _EXACT and match is None:
            message = "Request specified MATCH_TYPE_EXACT, but set match string to null."
            raise FilterRefused(ErrorCode.INVALID_REQUEST, message)
        if match_type != _EXACT and match is not None:
            message = f"Request specified {_MATCHES[match_type]}, but also specified a match string."
            raise FilterRefused(ErrorCode.INVALID_REQUEST, message)
        if match_type == _SPECIFIED:
            self._specified[kind] = None
        else:
            self._exact[kind] = match


class ClientQuotasImage:
    """Every entity that has quotas; never changed after it is made."""

    __slots__ = ("_by_key",)

    def __init__(self, by_key: Mapping[_Key, tuple[ClientQuotaEntity, Quotas]]) -> None:
        self._by_key = by_key

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def items(self) -> Iterable[tuple[ClientQuotaEntity, Quotas]]:
        """Entities and their quotas, in the order of Kafka's tables."""
        return self._by_key.values()

    def quotas_of(self, entity: ClientQuotaEntity) -> Quotas:
        """The quotas set on an entity itself."""
        found = self._by_key.get(entity.key)
        return {} if found is None else found[1]

    def describe(self, wanted: ClientQuotaFilter) -> list[tuple[ClientQuotaEntity, Quotas]]:
        """Return the entities that match a filter, with their quotas."""
        return [(entity, quotas) for entity, quotas in self.items() if wanted.matches(entity)]

    def with_changes(self, changes: Iterable[QuotaChange]) -> ClientQuotasImage:
        """Set and remove quotas. Mirrors ClientQuotasDelta.apply, whose new tables are as large as the old ones."""
        deltas: dict[_Key, tuple[ClientQuotaEntity, dict[str, float | None]]] = {}
        for change in changes:
            entity = ClientQuotaEntity.of(change.entity.names)
            deltas.setdefault(entity.key, (entity, {}))[1][change.key] = change.value
        changed = [(entity, _changed(self.quotas_of(entity), delta)) for entity, delta in deltas.values()]
        merged: dict[_Key, tuple[ClientQuotaEntity, Quotas]] = dict(self._by_key)
        # HashMap.computeIfAbsent puts a new key before those of its bucket: hence the reversed order.
        for entity, quotas in hash_order_by(reversed(changed), _entity_hash):
            merged[entity.key] = entity, quotas
        kept = [item for item in merged.values() if item[1]]
        ordered = hash_order_by(kept, _entity_hash, capacity=len(self._by_key))
        return ClientQuotasImage({entity.key: (entity, quotas) for entity, quotas in ordered})


def _changed(before: Quotas, delta: Mapping[str, float | None]) -> Quotas:
    """Return the quotas of one entity after its changes, which are a hash table too. Mirrors ClientQuotaDelta.apply."""
    after = {name: delta.get(name, value) for name, value in before.items()}
    for name in hash_order_by(delta, string_hash):
        after.setdefault(name, delta[name])
    kept = {name: value for name, value in after.items() if value is not None}
    return {name: kept[name] for name in hash_order_by(kept, string_hash, capacity=len(before))}


def _entity_hash(item: tuple[ClientQuotaEntity, Quotas]) -> int:
    return item[0].java_hash()


NO_CLIENT_QUOTAS: Final = ClientQuotasImage({})
