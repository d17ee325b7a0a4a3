"""Paths into a field tree: `topic_data[1].partition_data[0].records.batch[2].crc`, and what is wrong with one.

Besides declared fields a path may end in a part of one: `.length` and `.content` of a string, bytes or record set,
`.count` of an array or of `unknown_tags`, `.tag`, `.size` and `.data` of `unknown_tags[0]`, `.tag`, `.size` and
`.value` of a known tagged field, `.presence` of a struct that may be null. A whole frame adds `frame_size` and
`header.correlation_id`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from protocol_specs.mutation.field_tree import Framing, Group, MutationError, Node, joined, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH_BYTES_MAX: Final = 1000
_SEGMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,9})\])?")


class UnknownFieldPath(MutationError):
    """No such field: `segment` is the part of the path that leads nowhere, `nearest` are names that resemble it."""

    def __init__(self, path: str, reason: str, segment: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(path, reason)
        self.args = (path, reason, segment, nearest)
        self.segment = segment
        self.nearest = nearest


def find_node(root: Group, path: str) -> Node:
    """The node at a path. Raises UnknownFieldPath."""
    node: Node = root
    for name, index in segments_of(path):
        node = _next(node, name, index, path)
    return node


def segments_of(path: str) -> list[tuple[str, int | None]]:
    """The names and indices of a path. Raises UnknownFieldPath for what is none."""
    if not path or len(path) > PATH_BYTES_MAX:
        raise UnknownFieldPath(path, f"a path has 1 to {PATH_BYTES_MAX} characters", path)
    found: list[tuple[str, int | None]] = []
    for text in path.split("."):
        match = _SEGMENT.fullmatch(text)
        if match is None:
            raise UnknownFieldPath(path, f"{text!r} is no name and no name[index]", text)
        found.append((match[1], None if match[2] is None else int(match[2])))
    return found


def every_path(root: Group) -> Iterator[str]:
    """Every path of a tree, in wire order: fields, elements and the parts of fields."""
    yield from _paths(root, "", "")


def _paths(group: Group, path: str, prefix: str) -> Iterator[str]:
    """Below a group with this path, whose fields' paths begin with `prefix`: one pass, where path_of searches."""
    index = 0
    for child in group.children:
        child_path = joined(
            path if isinstance(child, Framing) else prefix, child.series if child.element else child.name
        )
        if child.element:
            child_path, index = f"{child_path}[{index}]", index + 1
        see_through = isinstance(child, Group) and child.see_through
        if child.name or child.element:
            yield child_path
        if isinstance(child, Group):
            yield from _paths(child, child_path, prefix if see_through else child_path)


def _next(node: Node, name: str, index: int | None, path: str) -> Node:
    child = _child(node, name)
    if index is None:
        if child is not None:
            return child
        raise _no_such_name(node, name, path)
    if child is not None:
        elements = _elements_of(child)
        if elements is not None:
            return _element(elements, name, index, path, child)
    elements = _series(node, name)
    if elements is None:
        if child is None:
            raise _no_such_name(node, name, path)
        raise UnknownFieldPath(path, f"{name} is no array: it is {child.type_name}", f"{name}[{index}]")
    found = _element(elements, name, index, path, node)
    if found.series != name:
        segment = f"{name}[{index}]"
        raise UnknownFieldPath(path, f"there is no {segment}: it is {found.series}[{index}]", segment, (found.series,))
    return found


def _element(elements: list[Node], name: str, index: int, path: str, holder: Node) -> Node:
    if index < len(elements):
        return elements[index]
    there = f"0 to {len(elements) - 1}" if elements else "none"
    count = f"{len(elements)} element{'' if len(elements) == 1 else 's'} ({there})"
    unread = _unread(holder)
    reason = f"there is no {name}[{index}]: it has {count}{f'; the bytes after them: {unread}' if unread else ''}"
    raise UnknownFieldPath(path, reason, f"{name}[{index}]")


def _child(node: Node, name: str) -> Node | None:
    if not isinstance(node, Group):
        return None
    for child in node.children:
        if child.name == name and not child.element:
            return child
    for child in node.children:
        if isinstance(child, Group) and child.see_through and not child.element:
            found = _child(child, name)
            if found is not None and not (isinstance(found, Framing) and found.parent is child):
                return found
    return None


def _elements_of(node: Node) -> list[Node] | None:
    """The elements of an array; None when it is none."""
    for group in with_seen_through(node):
        if group.holds[:1] == (node.name,) or group.type_name.startswith("[]"):
            return group.elements()
    return None


def _series(node: Node, name: str) -> list[Node] | None:
    """The elements that have a name of their own before their index: batches, messages, records."""
    return next((group.elements() for group in with_seen_through(node) if name in group.holds), None)


def with_seen_through(node: Node) -> list[Group]:
    """The group, and those in it that are no path segments of their own."""
    if not isinstance(node, Group):
        return []
    return [node, *(child for child in node.children if isinstance(child, Group) and child.see_through)]


def _unread(node: Node) -> str:
    return next((group.unread for group in with_seen_through(node) if group.unread), "")


def _no_such_name(node: Node, name: str, path: str) -> UnknownFieldPath:
    from difflib import get_close_matches

    place = path_of(node)
    where = f"{place} ({node.type_name})" if place else node.type_name
    if not isinstance(node, Group):
        return UnknownFieldPath(path, f"{where} has no {name!r} inside", name)
    if node.type_name.startswith("[]"):
        count = len(node.elements())
        return UnknownFieldPath(path, f"{where} is an array of {count}: say {place}[0].{name}", name)
    names = _names(node)
    nearest = tuple(get_close_matches(name, names, n=3, cutoff=0.6))
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else f"it has {', '.join(names)}"
    unread = _unread(node)
    reason = f"{where} has no field {name!r}: {hint}{f' (its bytes: {unread})' if unread else ''}"
    return UnknownFieldPath(path, reason, name, nearest)


def _names(group: Group) -> list[str]:
    names: dict[str, None] = {}
    for child in group.children:
        if child.name and not child.element:
            names[child.name] = None
        if isinstance(child, Group) and child.see_through and not child.element:
            own = {c.name for c in child.children if isinstance(c, Framing)}
            names.update(dict.fromkeys(name for name in _names(child) if name not in own))
    return list(names | dict.fromkeys(group.holds) | dict.fromkeys(group.optional))
