"""Strategies for messages, valid and with one rule of the wire format broken."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.fields import Array, FieldType
from protocol_specs.fuzzing import rules as message_rules
from protocol_specs.fuzzing.strategies.drawn_choices import DrawnChoices
from protocol_specs.fuzzing.valid_messages import ValidMessages
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.fuzzing.rules import NearlyValid
    from protocol_specs.message import Message, Struct

M = TypeVar("M", bound="Message")


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
        drawn: SearchStrategy[M] = _any_message(cls, version, unknown_tags)  # type: ignore[arg-type]  # see Message.struct
        return drawn
    _check_names(cls, values)
    return _message(cls, version, unknown_tags, values)


@st.composite
def nearly_valid(
    draw: DrawFn, cls: type[Message], version: int, *, rules: Collection[str] | None = None
) -> NearlyValid:
    """Draw a message of one version, encode it, and break one rule of the wire format: any, or one of these names."""
    return broken(draw, cls, version, draw(message(cls, version)).encode(version), rules=rules)


def broken(
    draw: DrawFn,
    cls: type[Message],
    version: int,
    data: bytes,
    *,
    refused: bool | None = None,
    rules: Collection[str] | None = None,
) -> NearlyValid:
    """Break one rule of the valid bytes of a message; the example is rejected if none can be broken."""
    found = message_rules.nearly_valid(DrawnChoices(draw), cls, version, data, refused=refused, rules=rules)
    return reject() if found is None else found


@lru_cache(maxsize=1024)
def _any_message(cls: type[Message], version: int, unknown_tags: bool) -> SearchStrategy[Any]:  # noqa: FBT001
    return _message(cls, version, unknown_tags, {})


@st.composite
def _message(
    draw: DrawFn,
    cls: type[Message],
    version: int,
    unknown_tags: bool,  # noqa: FBT001
    values: Mapping[str, SearchStrategy[Any]],
) -> Any:
    given = {name: partial(draw, strategy) for name, strategy in values.items()}
    valid = ValidMessages(DrawnChoices(draw), _record_sets(), unknown_tags=unknown_tags, given=given)
    return valid.message(cls, version)


@lru_cache(maxsize=1)
def _record_sets() -> tuple[bytes, ...]:
    """The content of Records fields unless a strategy is given."""
    one, two = RecordBatchBuilder(), RecordBatchBuilder(base_offset=1)
    one.append(1_700_000_000_000, None, b"value")
    for value in (b"", None):
        two.append(1_700_000_000_000, b"key", value, (("name", b"value"),))
    return b"", one.build(), one.build() + two.build()


def _check_names(cls: type[Struct], values: Mapping[str, SearchStrategy[Any]]) -> None:
    known = [name for path in _paths(cls, "") for name in (path, path.rpartition(".")[2])]
    for name in values:
        if name not in known:
            near = close_names(name, known)
            hint = f": did you mean {near[0]}?" if near else ""
            raise ValueError(f"{cls.__name__} has no field {name!r}{hint}")


def _paths(cls: type[Struct], prefix: str) -> Iterator[str]:
    for f in cls.FIELDS:
        yield prefix + f.name
        inner = f.type.element if isinstance(f.type, Array) else f.type
        if not isinstance(inner, FieldType):
            yield from _paths(inner, f"{prefix}{f.name}.")
