"""Paths into a field map: `topic_data[1].partition_data[0].records.batch[2].crc`, and errors for unknown ones.

Besides declared fields a path can end in a part of one: `.length` and `.content` of a string, bytes or record set,
`.count` of an array or of `unknown_tags`, `.tag`, `.size` and `.data` of `unknown_tags[0]`, `.tag`, `.size` and
`.value` of a known tagged field, `.presence` of a struct that may be null. A whole frame adds `frame_size` and
`header.correlation_id`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from protocol_specs.fuzzing.field_map import FieldMap, MutationError, Part
from protocol_specs.fuzzing.field_parts import Tag
from protocol_specs.message import Struct
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Field

PATH_BYTES_MAX: Final = 1000
_SEGMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,9})\])?")


class UnknownFieldPath(MutationError):
    """No field has this path: `segment` is the part of it that is unknown, `nearest` are similar names."""

    def __init__(self, path: str, reason: str, segment: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(path, reason)
        self.args = (path, reason, segment, nearest)
        self.segment = segment
        self.nearest = nearest


def every_path(fields: FieldMap) -> Iterator[str]:
    """Every path of a map in wire order: fields, elements and the parts of fields."""
    index = 1
    if fields.root.expand is not None:
        fields.expanded(fields.root)
    while index < len(fields.parts):
        part = fields.expanded(fields.parts[index])
        yield part.path
        if part.inside is not None:
            prefix = _prefix_of_inner(part)
            yield from (prefix + path for path in every_path(part.inside))
        index += 1


def locate(fields: FieldMap, path: str) -> list[tuple[FieldMap, Part]]:
    """The part at a path with its map, after the compressed sections that contain it. Raises UnknownFieldPath."""
    found = _locate(fields, path) if path else None
    return found or _fail(fields, path)


def tagged_default(fields: FieldMap, path: str) -> tuple[Part, Field] | None:
    """The tagged field at `path` that is at its default, hence not in the bytes, and the tag section for it."""
    outer, _, name = path.rpartition(".")
    found = _locate(fields, outer)
    holder = found[0][1] if found and len(found) == 1 else None
    declared = None if holder is None else _struct_of(holder)
    if holder is None or declared is None or holder.scope is None:
        return None
    section_path = _joined(outer, "unknown_tags")
    section = next((part for part in fields.parts if part.path == section_path), None)
    f = next((f for f in declared.FIELDS if f.name == name and holder.scope.version in f.tagged), None)
    return None if section is None or f is None else (section, f)


def _locate(fields: FieldMap, path: str) -> list[tuple[FieldMap, Part]] | None:
    index = 0
    while index < len(fields.parts):
        part = fields.parts[index]
        if part.path == path:
            return [(fields, part)]
        if (part.expand is not None or part.inside is not None) and path.startswith(_prefix_of_inner(part)):
            fields.expanded(part)
            if part.inside is not None:
                found = _locate(part.inside, path[len(_prefix_of_inner(part)) :])
                if found is not None:
                    return [(fields, part), *found]
        index += 1
    return None


def _prefix_of_inner(part: Part) -> str:
    """The prefix of the paths of records and messages inside a part."""
    outer = part.path.rpartition(".")[0]
    return f"{outer}." if outer else ""


def _joined(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def _struct_of(part: Part) -> type[Struct] | None:
    declared = part.declared
    if isinstance(declared, Tag):
        declared = declared.field.type if declared.field is not None else None
    return declared if isinstance(declared, type) and issubclass(declared, Struct) else None


def _fail(fields: FieldMap, path: str) -> NoReturn:
    known, at = "", (fields, fields.root)
    for name, index in _segments_of(path):
        segment = name if index is None else f"{name}[{index}]"
        found = _locate(fields, _joined(known, segment))
        if found is None:
            error = _Unknown(path, known, *at)
            raise error.name(name) if index is None else error.element(fields, name, index)
        known, at = _joined(known, segment), found[-1]
    raise AssertionError(path)


def _segments_of(path: str) -> list[tuple[str, int | None]]:
    """The names and indices of a path. Raises UnknownFieldPath if it is malformed."""
    if not path or len(path) > PATH_BYTES_MAX:
        raise UnknownFieldPath(path, f"a path has 1 to {PATH_BYTES_MAX} characters", path)
    segments: list[tuple[str, int | None]] = []
    for text in path.split("."):
        match = _SEGMENT.fullmatch(text)
        if match is None:
            raise UnknownFieldPath(path, f"{text!r} is neither name nor name[index]", text)
        segments.append((match[1], None if match[2] is None else int(match[2])))
    return segments


class _Unknown:
    """Explains why nothing has a path: `known` is the part of it that leads to `holder`."""

    def __init__(self, path: str, known: str, fields: FieldMap, holder: Part) -> None:
        self.path = path
        self.known = known
        self.fields = fields
        self.holder = holder
        children = fields.children(holder)
        self.containers = [part for part in (holder, *children) if part.holds]
        self.unread = next((part.unread for part in (holder, *children) if part.unread), "")

    def element(self, fields: FieldMap, name: str, index: int) -> UnknownFieldPath:
        segment = f"{name}[{index}]"
        array = _locate(fields, _joined(self.known, name))
        if array is not None:
            holder_map, part = array[-1]
            value = next((child for child in holder_map.children(part) if child.path == f"{part.path}.value"), part)
            if value.type_name.startswith("[]") or value.holds == (name,):
                return self.count(segment, _elements(holder_map, value), part.unread)
            return UnknownFieldPath(self.path, f"{name} is not an array: it is {part.type_name}", segment)
        container = next((part for part in self.containers if name in part.holds), None)
        if container is None:
            return self.name(name)
        elements = _elements(self.fields, container)
        if index < len(elements):
            other = elements[index].path.rpartition(".")[2].partition("[")[0]
            return UnknownFieldPath(self.path, f"there is no {segment}: it is {other}[{index}]", segment, (other,))
        return self.count(segment, elements, container.unread)

    def count(self, segment: str, elements: list[Part], unread: str) -> UnknownFieldPath:
        indices = f"0 to {len(elements) - 1}" if elements else "none"
        count = f"{len(elements)} element{'' if len(elements) == 1 else 's'} ({indices})"
        rest = f"; the bytes after them: {unread}" if unread else ""
        return UnknownFieldPath(self.path, f"there is no {segment}: it has {count}{rest}", segment)

    def name(self, name: str) -> UnknownFieldPath:
        holder = self.holder
        where = f"{self.known} ({holder.type_name})" if self.known else holder.type_name
        if holder.type_name.startswith("[]"):
            count = len(_elements(self.fields, holder))
            reason = f"{where} is an array of {count}: use {self.known}[0].{name}"
            return UnknownFieldPath(self.path, reason, name)
        names = self.names()
        if not names:
            return UnknownFieldPath(self.path, f"{where} has no {name!r} inside", name)
        nearest = close_names(name, names, count=3)
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else f"it has {', '.join(names)}"
        rest = f" (its bytes: {self.unread})" if self.unread else ""
        return UnknownFieldPath(self.path, f"{where} has no field {name!r}: {hint}{rest}", name, nearest)

    def names(self) -> list[str]:
        """The names that can follow the holder in a path."""
        prefix = _joined(self.holder.path, "")
        inner = [part.path[len(prefix) :] for part in self.fields.parts[1:] if part.path.startswith(prefix)]
        names = dict.fromkeys(path.partition("[")[0] for path in inner if "." not in path)
        for container in self.containers:
            names |= dict.fromkeys(container.holds)
        declared = _struct_of(self.holder)
        if declared is not None and self.holder.scope is not None:
            version = self.holder.scope.version
            names |= dict.fromkeys(f.name for f in declared.FIELDS if version in f.tagged)
        return list(names)


def _elements(fields: FieldMap, holder: Part) -> list[Part]:
    fields.expanded(holder)
    inner = fields.children(holder) if holder.inside is None else holder.inside.children(holder.inside.root)
    return [part for part in inner if part.is_element]
