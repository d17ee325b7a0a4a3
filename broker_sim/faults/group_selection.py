"""The groups and members that a request names, for rules that select by them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.entities import GROUP_ID, entity_values, named_values

if TYPE_CHECKING:
    from protocol_specs.message import Message

__all__ = ["fits_any", "groups_of", "members_of"]

_MEMBER_NAMES: Final = frozenset({"member_id", "group_instance_id", "instance_id"})
_KEY_OF_A_GROUP: Final = 0
"""The key type of FindCoordinator for which the key is a group id."""


def groups_of(request: Message | None) -> list[str]:
    """Return the group ids of a request; none if it is not parsed, or names no group."""
    if request is None:
        return []
    if request.API_KEY is ApiKey.FIND_COORDINATOR:
        return _found_groups(request)
    return [group for group in entity_values(request, GROUP_ID) if group]


def _found_groups(request: Any) -> list[str]:
    if request.key_type != _KEY_OF_A_GROUP:
        return []
    return [key for key in (request.key, *request.coordinator_keys) if key]


def members_of(request: Message | None) -> list[str]:
    """Return the member ids and instance ids of a request; none if it is not parsed."""
    return [] if request is None else [member for member in named_values(request, _MEMBER_NAMES) if member]


def fits_any(names: list[str], pattern: str) -> bool:
    """Return True if a name fits a pattern such as `orders-*`."""
    return any(fnmatchcase(name, pattern) for name in names)
