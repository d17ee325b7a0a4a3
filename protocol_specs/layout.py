"""A declaration as rows: its fields over all versions, in the form of Kafka's message definitions. Mirrors MessageSpec.

A row's version ranges are limited to those of the enclosing structs and of the message, so that they are the versions
that really have the field. The exact bytes of one version are in `wire_layout`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from protocol_specs.fields import Array, FieldType, FixedType, SizedType, Uuid
from protocol_specs.message import Kind
from protocol_specs.uuids import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Field, Message, Struct
    from protocol_specs.version_range import VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One field at its place: `path` are the names from the top, `newest` is the newest version of the message."""

    path: tuple[str, ...]
    place: str
    field: Field
    versions: VersionRange
    nullable: VersionRange
    tagged: VersionRange
    newest: int

    @property
    def name(self) -> str:
        """The field's own name."""
        return self.path[-1]

    @property
    def depth(self) -> int:
        """The number of enclosing structs."""
        return len(self.path) - 1

    @property
    def type_name(self) -> str:
        """Kafka's name of the type; a struct's is that of its class, and an array's has `[]` before it."""
        return self.field.type.name if isinstance(self.field.type, FieldType) else self.field.type.__name__

    @property
    def versions_text(self) -> str:
        """The versions with it, `3+` where they reach the newest."""
        return versions_text(self.versions, self.newest)

    @property
    def notes(self) -> list[str]:
        """Other declared properties, one short text each."""
        notes = []
        if self.nullable:
            everywhere = self.nullable == self.versions
            notes.append("nullable" if everywhere else f"nullable {versions_text(self.nullable, self.newest)}")
        if self.tagged:
            everywhere = self.tagged == self.versions
            tag = f"tag {self.field.tag}"
            notes.append(tag if everywhere else f"{tag} in {versions_text(self.tagged, self.newest)}")
        if (default := default_text(self.field)) is not None:
            notes.append(f"default {default}")
        if self.field.ignorable:
            notes.append("ignorable")
        if self.field.map_key:
            notes.append("map key")
        if self.field.entity:
            notes.append(f"entity {self.field.entity}")
        if not self.field.flexible:
            notes.append("never compact")
        return notes


def field_rows(cls: type[Message]) -> list[FieldRow]:
    """Every field of a message, structs written out at each place, in the order of the declaration."""
    return list(_rows(cls, cls.VERSIONS, (), "", cls.VERSIONS.highest))


def _rows(
    cls: type[Struct], around: VersionRange, path: tuple[str, ...], steps: str, newest: int
) -> Iterator[FieldRow]:
    for f in cls.FIELDS:
        versions = f.versions.intersection(around)
        here = (*path, f.name)
        place = f"{steps}{f.name}"
        yield FieldRow(
            path=here,
            place=place,
            field=f,
            versions=versions,
            nullable=f.nullable.intersection(versions),
            tagged=f.tagged.intersection(versions),
            newest=newest,
        )
        if (inner := struct_of(f)) is not None:
            yield from _rows(inner, versions, here, f"{place}[]." if isinstance(f.type, Array) else f"{place}.", newest)


def struct_of(f: Field) -> type[Struct] | None:
    """The struct that a field is, or is an array of."""
    inner = f.type.element if isinstance(f.type, Array) else f.type
    return None if isinstance(inner, FieldType) else inner


def default_text(f: Field) -> str | None:
    """The default as text; None if it is the zero value of the type."""
    default: Any = f.default
    if isinstance(f.type, FixedType | SizedType) and default == f.type.zero:
        return None
    if default == [] or (default is not None and not isinstance(f.type, FieldType)):
        return None
    if default is None:
        return "null"
    if f.type is Uuid:
        return to_text(default)
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def versions_text(versions: VersionRange, newest: int) -> str:
    """`3+` for a range that reaches the newest version, as Kafka's definitions write it, else `0-12`."""
    return f"{versions.lowest}+" if versions and versions.highest >= newest else str(versions)


def header_version(cls: type[Message], version: int) -> int | None:
    """The version of the header before a request or a response; None before anything else."""
    from protocol_specs.messages import headers

    if cls.KIND is Kind.REQUEST:
        return headers.request_header_version(cls, version)
    return headers.response_header_version(cls, version) if cls.KIND is Kind.RESPONSE else None
