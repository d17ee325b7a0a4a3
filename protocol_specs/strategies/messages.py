"""Strategies for messages, derived from their declarations. Mirrors what Kafka's JSON schemas allow in a version.

A drawn message has values for the fields that its version carries, and defaults for the others, so that encoding and
decoding it gives it back. Draws shrink to empty arrays, null, zero, and tagged fields at their default.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.fields import Array, FieldType, FixedType, SizedType, String

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hypothesis.strategies import SearchStrategy

    from protocol_specs.message import Field, Message, Struct

M = TypeVar("M", bound="Message")

ELEMENTS_MAX: Final = 3
"""How many elements an array has at most: three levels of them make messages of some hundred bytes."""

UNKNOWN_TAG_MAX: Final = 300
"""The highest unknown tag that is drawn: its number takes two bytes on the wire."""

# Lengths on both sides of where the varint of length + 1 takes another byte.
_BORDER_LENGTHS: Final = (126, 127, 128)
_INTEGER_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
# A long one has a short one behind it: by leaving out the length alone it shrinks to what is not empty either.
_LENGTHS: Final = st.one_of(st.just(0), st.sampled_from(_BORDER_LENGTHS))
_TEXT: Final = st.builds(
    lambda text, length: "t" * length if text and length else text,
    st.text(st.characters(codec="utf-8"), max_size=8),
    _LENGTHS,
)
_BYTES: Final = st.builds(
    lambda data, length: b"b" * length if data and length else data, st.binary(max_size=16), _LENGTHS
)


def request(
    api: str | int, *, version: int, unknown_tags: bool = True, values: Mapping[str, SearchStrategy[Any]] | None = None
) -> SearchStrategy[Message]:
    """Draw requests of an API, given by name or key; see `message`."""
    cls = registry.request_type(ApiKey.named(api) if isinstance(api, str) else api)
    return message(cls, version, unknown_tags=unknown_tags, values=values)


def response(
    api: str | int, *, version: int, unknown_tags: bool = True, values: Mapping[str, SearchStrategy[Any]] | None = None
) -> SearchStrategy[Message]:
    """Draw responses of an API, given by name or key; see `message`."""
    cls = registry.response_type(ApiKey.named(api) if isinstance(api, str) else api)
    return message(cls, version, unknown_tags=unknown_tags, values=values)


def message(
    cls: type[M],
    version: int,
    *,
    unknown_tags: bool = True,
    values: Mapping[str, SearchStrategy[Any]] | None = None,
) -> SearchStrategy[M]:
    """Draw messages of one version.

    `values` replaces the strategies of fields, by name (`"error_code"`, wherever it stands) or by path
    (`"topic_data.partition_data.records"`). `unknown_tags=False` draws no tags that the declaration does not know.
    Raises UnsupportedVersion, and ValueError for a name in `values` that the message does not have.
    """
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    if values is None:
        drawn: SearchStrategy[M] = _plain_message(cls, version, unknown_tags)  # type: ignore[arg-type]  # see Message.struct
        return drawn
    _check_names(cls, values)
    return _Deriver(cls, version, unknown_tags=unknown_tags, values=values).struct(cls, "")


@lru_cache(maxsize=1024)
def _plain_message(cls: type[Message], version: int, unknown_tags: bool) -> SearchStrategy[Any]:  # noqa: FBT001
    return _Deriver(cls, version, unknown_tags=unknown_tags, values={}).struct(cls, "")


def _check_names(cls: type[Struct], values: Mapping[str, SearchStrategy[Any]]) -> None:
    known = [name for path in _paths(cls, "") for name in (path, path.rpartition(".")[2])]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise ValueError(f"{cls.__name__} has no field {name!r}{hint}")


def _paths(cls: type[Struct], prefix: str) -> Iterator[str]:
    for f in cls.FIELDS:
        yield prefix + f.name
        inner = f.type.element if isinstance(f.type, Array) else f.type
        if not isinstance(inner, FieldType):
            yield from _paths(inner, f"{prefix}{f.name}.")


class _Deriver:
    """Walks the declaration of one version of a message and answers the strategy of each part."""

    def __init__(
        self, cls: type[Message], version: int, *, unknown_tags: bool, values: Mapping[str, SearchStrategy[Any]]
    ) -> None:
        self.version = version
        self.has_unknown_tags = unknown_tags and cls.is_flexible(version)
        self.values = values

    def struct(self, cls: type[Struct], prefix: str) -> SearchStrategy[Any]:
        carried = [f for f in cls.FIELDS if self.version in f.versions]
        made = st.fixed_dictionaries({f.name: self.field(f, prefix + f.name) for f in carried}).map(
            lambda drawn: cls(**drawn)
        )
        if not self.has_unknown_tags:
            return made
        # Kafka's readers refuse a tag that they know from another version only.
        known = frozenset(f.tag for f in cls.FIELDS if f.tag is not None)
        return st.builds(_with_unknown_tags, made, _unknown_tags(known))

    def field(self, f: Field, path: str) -> SearchStrategy[Any]:
        given = self.values.get(path, self.values.get(f.name))
        if given is not None:
            return given
        drawn = self.value(f.type, path)
        if self.version in f.nullable:
            drawn = st.none() | drawn
        return st.builds(f.new_default) | drawn if self.version in f.tagged else drawn

    def value(self, field_type: FieldType | type[Struct], path: str) -> SearchStrategy[Any]:
        if isinstance(field_type, FixedType):
            return _fixed(field_type)
        if isinstance(field_type, SizedType):
            return _TEXT if field_type is String else _BYTES
        if isinstance(field_type, Array):
            return st.lists(self.value(field_type.element, path), max_size=ELEMENTS_MAX)
        assert isinstance(field_type, type)
        return self.struct(field_type, f"{path}.")


def _fixed(field_type: FixedType) -> SearchStrategy[Any]:
    if field_type.name == "bool":
        return st.booleans()
    if field_type.name == "float64":
        return st.floats(allow_nan=False)
    if field_type.name == "uuid":
        return st.just(field_type.zero) | st.binary(min_size=16, max_size=16)
    return st.integers(*_INTEGER_BOUNDS[field_type.name])


@lru_cache(maxsize=64)
def _unknown_tags(known: frozenset[int]) -> SearchStrategy[list[tuple[int, bytes]]]:
    """Mostly none; ascending, as they come from the wire."""
    tags = st.integers(0, UNKNOWN_TAG_MAX).filter(lambda tag: tag not in known)
    some = st.lists(st.tuples(tags, st.binary(max_size=4)), max_size=2, unique_by=lambda tagged: tagged[0]).map(sorted)
    return st.one_of(st.builds(list), st.builds(list), st.builds(list), some)


def _with_unknown_tags(made: Struct, tags: list[tuple[int, bytes]]) -> Struct:
    made.unknown_tags = tags
    return made
