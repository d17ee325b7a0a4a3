"""The values of a message that name a thing, such as its group ids: by the entity of fields, or by their names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array
from protocol_specs.message import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Field, Message

__all__ = [
    "GROUP_ID",
    "PRODUCER_ID",
    "TRANSACTIONAL_ID",
    "coordinated_keys",
    "entity_values",
    "groups_of",
    "members_of",
    "named_values",
    "struct_of",
    "structs_with",
]

GROUP_ID: Final = "groupId"
PRODUCER_ID: Final = "producerId"
TRANSACTIONAL_ID: Final = "transactionalId"

_MEMBER_NAMES: Final = frozenset({"member_id", "group_instance_id", "instance_id"})
_KEY_OF_A_GROUP: Final = 0
"""The key type of FindCoordinator for which the key is a group id."""

_Plan: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"
"""The names of the fields whose values are wanted, and of those whose structs have such fields."""
_NO_FIELDS: Final[_Plan] = ((), ())


def entity_values(message: Struct, entity: str) -> Iterator[Any]:
    """Iterate over the values of all fields of an entity, in the order of the declaration; null is left out."""
    return _values(message, lambda cls: _entity_plan(cls, entity))  # type: ignore[arg-type]


def named_values(message: Struct, names: frozenset[str]) -> Iterator[Any]:
    """Iterate over the values of all fields with these names, at any depth; null is left out."""
    return _values(message, lambda cls: _name_plan(cls, names))  # type: ignore[arg-type]


def groups_of(request: Message | None) -> list[str]:
    """Return the group ids that a request names; none if it is not parsed."""
    if request is None:
        return []
    if request.API_KEY is ApiKey.FIND_COORDINATOR:
        return coordinated_keys(request, _KEY_OF_A_GROUP)
    if _entity_plan(type(request), GROUP_ID) == _NO_FIELDS:  # type: ignore[arg-type]
        return []
    return [group for group in entity_values(request, GROUP_ID) if group]


def coordinated_keys(request: Any, key_type: int) -> list[str]:
    """Return the keys of a FindCoordinator of that type: 0 for groups, 1 for transactional ids."""
    if request.key_type != key_type:
        return []
    return [key for key in (request.key, *request.coordinator_keys) if key]


def members_of(request: Message | None) -> list[str]:
    """Return the member ids and instance ids of groups that a request names; none if it is not parsed."""
    return [] if request is None else [member for member in named_values(request, _MEMBER_NAMES) if member]


def structs_with(message: Struct, entities: frozenset[str]) -> Iterator[Struct]:
    """Iterate over the message and the structs in it, as far as they have a field of one of the entities themselves."""
    has_field, structs = _struct_plan(type(message), entities)  # type: ignore[arg-type]
    if has_field:
        yield message
    for name in structs:
        for element in getattr(message, name):
            yield from structs_with(element, entities)


def _values(struct: Struct, plan_of: Callable[[type[Struct]], _Plan]) -> Iterator[Any]:
    wanted, structs = plan_of(type(struct))
    for name in wanted:
        value = getattr(struct, name)
        if value is not None:
            yield from value if isinstance(value, list) else (value,)
    for name in structs:
        value = getattr(struct, name)
        for element in value if isinstance(value, list) else (value,):
            if element is not None:
                yield from _values(element, plan_of)


@cache
def _entity_plan(cls: type[Struct], entity: str) -> _Plan:
    return _plan(cls, lambda field: field.entity == entity)


@cache
def _name_plan(cls: type[Struct], names: frozenset[str]) -> _Plan:
    return _plan(cls, lambda field: field.name in names)


def _plan(cls: type[Struct], is_wanted: Callable[[Field], bool]) -> _Plan:
    wanted, structs = [], []
    for field in cls.FIELDS:
        if is_wanted(field):
            wanted.append(field.name)
            continue
        element = struct_of(field)
        if element is not None and any(_plan(element, is_wanted)):
            structs.append(field.name)
    return tuple(wanted), tuple(structs)


@cache
def _struct_plan(cls: type[Struct], entities: frozenset[str]) -> tuple[bool, tuple[str, ...]]:
    """Return whether the class has such a field, and the names of its arrays whose structs have one."""
    structs = [
        field.name
        for field in cls.FIELDS
        if (element := struct_of(field)) is not None and any(_struct_plan(element, entities))  # type: ignore[arg-type]
    ]
    return any(field.entity in entities for field in cls.FIELDS), tuple(structs)


def struct_of(field: Field) -> type[Struct] | None:
    """Return the class of the structs that a field has, None for a field of other values."""
    inner = field.type.element if isinstance(field.type, Array) else field.type
    return inner if isinstance(inner, type) and issubclass(inner, Struct) else None
