"""The access control entries of an image, by the resources that they apply to. Mirrors AclCache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.acl import WILDCARD_RESOURCE, Acl, AclFilter, PatternType, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["AclIndex"]


class AclIndex:
    """Finds the entries of a resource without a walk over all: by literal name, and by each length of a prefix."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._all = sorted(acls, key=_kafka_order)
        self._literal: dict[tuple[ResourceType, str], list[Acl]] = {}
        self._prefixed: dict[ResourceType, dict[int, dict[str, list[Acl]]]] = {}
        for acl in self._all:
            if acl.pattern_type is PatternType.LITERAL:
                self._literal.setdefault((acl.resource_type, acl.resource_name), []).append(acl)
            else:
                by_length = self._prefixed.setdefault(acl.resource_type, {})
                by_name = by_length.setdefault(len(acl.resource_name), {})
                by_name.setdefault(acl.resource_name, []).append(acl)

    def of_resource(self, resource_type: ResourceType, name: str) -> Iterator[Acl]:
        """Iterate over the entries that apply to a resource, of any principal and host."""
        yield from self._literal.get((resource_type, name), ())
        for length, by_name in self._prefixed.get(resource_type, {}).items():
            if length <= len(name):
                yield from by_name.get(name[:length], ())
        if name != WILDCARD_RESOURCE:
            yield from self._literal.get((resource_type, WILDCARD_RESOURCE), ())

    def matching(self, acl_filter: AclFilter) -> list[Acl]:
        """Return the entries that a filter selects, in the order of Kafka's cache."""
        return [acl for acl in self._all if acl_filter.matches(acl)]


def _kafka_order(acl: Acl) -> tuple[object, ...]:
    """Mirrors StandardAcl.compareTo: resource names descend, in the order of their UTF-16 code units."""
    return (
        acl.resource_type,
        _Descending(acl.resource_name.encode("utf-16-be", "surrogatepass")),
        acl.pattern_type,
        acl.operation,
        acl.principal,
        acl.host,
        acl.permission_type,
    )


class _Descending(bytes):
    """Bytes that sort in descending order."""

    def __lt__(self, other: bytes) -> bool:
        return bytes.__gt__(self, other)

    def __gt__(self, other: bytes) -> bool:
        return bytes.__lt__(self, other)
