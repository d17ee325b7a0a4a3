"""Message declarations: one typed, slotted class for all versions of a struct. Mirrors Kafka's MessageSpec.

A declaration is a class whose attributes are `field(...)` calls:

    @struct
    class PartitionProduceData(Struct):
        index: int = field(Int32)
        records: RecordsBuffer | None = field(Records, nullable="0+")

    @message(api_key=ApiKey.PRODUCE, versions="0-13", flexible="9+")
    class ProduceRequest(Message): ...

`typing.dataclass_transform` shows every field to editors and type checkers. The decorator makes the class slotted and
keyword-only; its constructor, and the encode and decode functions of a version, are generated when they are first used,
so that importing a message is cheap. Messages are not frozen, because the constructor of a frozen class
costs several times more, but no code changes a message after its construction: struct defaults are shared.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias, TypeVar, dataclass_transform

from protocol_specs.fields import Array, FieldType, FixedType, SizedType
from protocol_specs.version_range import ALL, EMPTY, VersionRange

if TYPE_CHECKING:
    import construct

    from protocol_specs.api_key import ApiKey

Buffer: TypeAlias = bytes | memoryview
"""Bytes, or a view into the frame that contains them."""

RecordsBuffer: TypeAlias = bytes | memoryview | list[bytes] | list[memoryview] | list[bytes | memoryview]
"""A record set: decoding gives a view into the frame; encoding also takes a list of batches, joined on the wire."""

_MISSING: Final = object()


class Kind(enum.Enum):
    """The kind of a top-level declaration."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    DATA = "data"
    COORDINATOR_KEY = "coordinator_key"
    COORDINATOR_VALUE = "coordinator_value"
    METADATA = "metadata"


class Field:
    """One field of a declaration: type, versions, nullability, tag and default, as Kafka's definitions give them."""

    __slots__ = (
        "default",
        "entity",
        "flexible",
        "ignorable",
        "map_key",
        "name",
        "nullable",
        "tag",
        "tagged",
        "type",
        "versions",
    )

    def __init__(
        self,
        field_type: FieldType | type[Struct],
        *,
        versions: VersionRange,
        nullable: VersionRange,
        tag: int | None,
        tagged: VersionRange,
        default: object,
        ignorable: bool,
        map_key: bool,
        entity: str | None,
        flexible: bool,
    ) -> None:
        self.name = ""
        self.type = field_type
        self.versions = versions
        self.nullable = nullable
        self.tag = tag
        self.tagged = tagged
        self.ignorable = ignorable
        self.map_key = map_key
        self.entity = entity
        self.flexible = flexible
        self.default = _zero(field_type) if default is _MISSING else default

    def __repr__(self) -> str:
        return f"<Field {self.name}: {self.type!r} {self.versions}>"

    def new_default(self) -> object:
        """The value of this field where a version does not carry it: a list is a new one, a struct is shared."""
        return [] if isinstance(self.default, list) else self.default


def _zero(field_type: FieldType | type[Struct]) -> object:
    if isinstance(field_type, FixedType | SizedType):
        return field_type.zero
    if isinstance(field_type, Array):
        return []
    assert isinstance(field_type, type)
    return field_type.shared_default()


def field(
    field_type: FieldType | type[Struct],
    *,
    versions: str | None = None,
    nullable: str | None = None,
    tag: int | None = None,
    tagged: str | None = None,
    default: object = _MISSING,
    ignorable: bool = False,
    map_key: bool = False,
    entity: str | None = None,
    flexible: bool = True,
) -> Any:
    """Declare a field.

    `versions` carry it (all when not given); `nullable` are those where None is allowed; `tagged` those where it is
    a tagged field with number `tag`. `default` is the zero value of the type when not given. `ignorable` lets an
    encoder drop a value in a version without the field. `flexible=False` keeps the old encoding in flexible versions.
    """
    return Field(
        field_type,
        versions=VersionRange.parse(versions) if versions else ALL,
        nullable=VersionRange.parse(nullable) if nullable else EMPTY,
        tag=tag,
        tagged=VersionRange.parse(tagged) if tagged else EMPTY,
        default=default,
        ignorable=ignorable,
        map_key=map_key,
        entity=entity,
        flexible=flexible,
    )


class Struct:
    """Fields in wire order. `unknown_tags` are tagged fields that are not declared: (tag, data)."""

    __slots__ = ("unknown_tags",)

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    _SHARED_DEFAULT: ClassVar[Struct | None] = None

    unknown_tags: Sequence[tuple[int, bytes]]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if list(self.unknown_tags) != list(other.unknown_tags):
            return False
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # equal by value and not frozen

    def __repr__(self) -> str:
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in self.FIELDS]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def shared_default(cls) -> Self:
        """The struct with every field at its default: one object for all, so that "is it the default?" is cheap."""
        if cls._SHARED_DEFAULT is None or type(cls._SHARED_DEFAULT) is not cls:
            cls._SHARED_DEFAULT = cls()
        return cls._SHARED_DEFAULT


DecodeFunction: TypeAlias = Callable[[Buffer, int], tuple[Any, int]]
EncodeFunction: TypeAlias = Callable[[Any, "list[Any]"], None]


class Message(Struct):
    """A top-level declaration: one that has versions of its own and can be encoded and decoded."""

    __slots__ = ()

    API_KEY: ClassVar[ApiKey]
    """The API of a request or a response; headers and schemas have none."""
    RECORD_TYPE: ClassVar[int] = -1
    NAME: ClassVar[str] = ""
    KIND: ClassVar[Kind] = Kind.DATA
    VERSIONS: ClassVar[VersionRange] = EMPTY
    FLEXIBLE: ClassVar[VersionRange] = EMPTY
    UNSTABLE: ClassVar[VersionRange] = EMPTY
    _DECODERS: ClassVar[dict[int, DecodeFunction]]
    _ENCODERS: ClassVar[dict[int, EncodeFunction]]

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """True if `version` has compact lengths and tagged fields (KIP-482)."""
        return version in cls.FLEXIBLE

    @classmethod
    def struct(cls, version: int) -> construct.Struct[Any, Any]:
        """The construct.Struct of `version`: the readable reference. Raises UnsupportedVersion."""
        from protocol_specs.codec.struct_builder import struct_for

        return struct_for(cls, version)  # type: ignore[arg-type]  # a class is hashable, though it sets no __hash__

    @classmethod
    def decode(cls, version: int, data: Buffer) -> Self:
        """The message in `data`; bytes after it are ignored, as a Kafka broker does. Raises MessageDecodeError."""
        # Written out, because a call of decode_from would be a tenth of the time that a small message takes.
        try:
            decoder = cls._DECODERS[version]
        except (KeyError, TypeError):  # the version is new, unknown, or cannot be hashed
            return cls.decode_from(version, data, 0)[0]
        return decoder(data, 0)[0]  # type: ignore[no-any-return]

    @classmethod
    def decode_from(cls, version: int, data: Buffer, position: int) -> tuple[Self, int]:
        """The message that begins at `position`, and the position after it. Raises MessageDecodeError."""
        try:
            decoder = cls._DECODERS[version]
        except (KeyError, TypeError):
            from protocol_specs.codec.code_generator import decoder_for

            decoder = cls._DECODERS[version] = decoder_for(cls, version)
        return decoder(data, position)

    def encode(self, version: int) -> bytes:
        """The bytes of this message in `version`. Raises MessageEncodeError naming the field that does not fit."""
        parts: list[Any] = []
        # As in decode: the call of encode_into would be a tenth of the time that a small message takes.
        try:
            encoder = self._ENCODERS[version]
        except (KeyError, TypeError):
            self.encode_into(version, parts)
        else:
            encoder(self, parts)
        try:
            return b"".join(parts)
        except TypeError as fault:  # bytes and records go by reference: only the join looks at them
            from protocol_specs.codec.encode_faults import locate_encode_fault

            raise locate_encode_fault(self, version, fault) from None

    def encode_into(self, version: int, parts: list[Any]) -> None:
        """Append the buffers of this message to `parts`: record sets go by reference. Raises MessageEncodeError."""
        try:
            encoder = self._ENCODERS[version]
        except (KeyError, TypeError):
            from protocol_specs.codec.code_generator import encoder_for

            encoder = self._ENCODERS[version] = encoder_for(type(self), version)
        encoder(self, parts)


S = TypeVar("S", bound=Struct)
M = TypeVar("M", bound=Message)


@dataclass_transform(kw_only_default=True, eq_default=True)
def struct(cls: type[S]) -> type[S]:
    """Make a struct of a declaration: slotted, keyword-only, with a constructor generated on first use."""
    return _slotted(cls)


@dataclass_transform(kw_only_default=True, eq_default=True)
def message(
    *,
    versions: str,
    flexible: str = "none",
    unstable: str = "none",
    api_key: ApiKey | None = None,
    kind: Kind | None = None,
    record_type: int = -1,
) -> Callable[[type[M]], type[M]]:
    """Make a message of a declaration.

    `unstable` are versions that brokers serve only with `unstable.api.versions.enable`. `record_type` is the number
    before a coordinator's or a metadata record. `kind`, when not given, is the end of the class name: Request,
    Response, Header, else data.
    """

    def decorate(cls: type[M]) -> type[M]:
        made = _slotted(cls)
        if api_key is not None:
            made.API_KEY = api_key
        made.RECORD_TYPE = record_type
        made.VERSIONS = VersionRange.parse(versions)
        made.FLEXIBLE = VersionRange.parse(flexible)
        made.UNSTABLE = VersionRange.parse(unstable)
        made.KIND, made.NAME = (kind, made.__name__) if kind else _kind_and_name(made.__name__)
        made._DECODERS = {}  # noqa: SLF001 - the decorator completes its own class
        made._ENCODERS = {}  # noqa: SLF001
        return made

    return decorate


def _kind_and_name(class_name: str) -> tuple[Kind, str]:
    if class_name.endswith("Header"):
        return Kind.HEADER, class_name
    for kind in (Kind.REQUEST, Kind.RESPONSE):
        suffix = kind.value.capitalize()
        if class_name.endswith(suffix):
            return kind, class_name.removesuffix(suffix)
    return Kind.DATA, class_name


def _slotted(cls: type[S]) -> type[S]:
    """Recreate the class with slots: a slot cannot be added to a class that exists (dataclasses do the same)."""
    namespace = dict(cls.__dict__)
    declared: list[Field] = []
    for name, value in cls.__dict__.items():
        if isinstance(value, Field):
            value.name = name
            declared.append(value)
            del namespace[name]
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    namespace["__slots__"] = tuple(f.name for f in declared)
    namespace["FIELDS"] = tuple(declared)
    namespace["__init__"] = _first_init
    made: type[S] = type(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _first_init(self: Struct, **values: object) -> None:
    """Generate the constructor of the class, put it in place of this one, and call it."""
    cls = type(self)
    cls.__init__ = _make_init(cls)  # type: ignore[method-assign]
    self.__init__(**values)  # type: ignore[misc]


def _make_init(cls: type[Struct]) -> Callable[..., None]:
    parameters, values = [], {}
    for f in cls.FIELDS:
        name = f.name
        if isinstance(f.default, list):
            parameters.append(f"{name}=UNSET")
            values[name] = f"[] if {name} is UNSET else {name}"
        else:
            parameters.append(f"{name}=default_{name}")
            values[name] = name
    signature = f"*, {', '.join(parameters)}" if parameters else ""
    return _compile(cls, "__init__", f"self, {signature}", _assignments(cls, values))


def factory(cls: type[S], *names: str) -> Callable[..., S]:
    """Return a function that creates a `cls` from the values of the fields `names`, by position.

    The other fields have their defaults. For code that creates a message per request: the call takes less than half of
    the time of the constructor, which is called through the type and with keyword arguments.
    """
    body = [f"self = new({cls.__name__})", *_assignments(cls, dict(zip(names, names, strict=True))), "return self"]
    return _compile(cls, "create", ", ".join(names), body)


def _assignments(cls: type[Struct], values: Mapping[str, str]) -> list[str]:
    """Return the statements that set every field: to the expression in `values`, or to the default."""
    lines = ["self.unknown_tags = ()"]
    for f in cls.FIELDS:
        default = "[]" if isinstance(f.default, list) else f"default_{f.name}"
        lines.append(f"self.{f.name} = {values.get(f.name, default)}")
    return lines


def _compile(cls: type[Struct], name: str, parameters: str, body: Sequence[str]) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"UNSET": _MISSING, "new": object.__new__, cls.__name__: cls}
    for f in cls.FIELDS:
        namespace[f"default_{f.name}"] = f.default
    source = "\n  ".join([f"def {name}({parameters}):", *body])
    exec(compile(source, f"<constructor of {cls.__name__}>", "exec"), namespace)  # noqa: S102 - made of our declarations alone
    made: Callable[..., Any] = namespace[name]
    made.__qualname__ = f"{cls.__name__}.{name}"  # the text of a TypeError begins with it
    return made
