"""A digest of everything that is reachable from some objects: two equal graphs have equal digests, in every process.

Objects count by their class, their fields and their place in the graph, never by their address. What is to be left out
must be named: a field or a class that is new belongs to the graph.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import types
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sim_runtime.random_streams import LazyRandom

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

__all__ = ["ObjectGraph"]

_ATOMS: Final = frozenset({int, str, bytes, float, bool, type(None), complex})


class ObjectGraph:
    """Walks objects of classes in Python, containers, functions with what they capture, coroutines and iterators.

    `left_out(cls)` returns True for classes whose objects do not count. `fields_left_out` names fields that do not
    count, by the name of a class that has them; `fields_in_any_order` those whose mappings have no order that counts.

    Raises (by `tokens`):
        TypeError: an object is of a kind that has no known contents.
    """

    def __init__(
        self,
        *,
        left_out: Callable[[type], bool],
        fields_left_out: Mapping[str, Collection[str]],
        fields_in_any_order: Mapping[str, Collection[str]],
    ) -> None:
        self._left_out = left_out
        self._fields_left_out = fields_left_out
        self._fields_in_any_order = fields_in_any_order
        self._classes: dict[type, _Class] = {}

    def digest(self, roots: Iterable[object]) -> str:
        """Return the digest of all that is reachable from the roots, in their order."""
        text = repr(self.tokens(roots)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    def tokens(self, roots: Iterable[object]) -> list[object]:
        """Return the graph as a flat list of plain values."""
        tokens: list[object] = []
        numbers: dict[int, int] = {}
        kept: list[object] = []  # an object that is gone would leave its address to another one
        stack = [*reversed([*roots])]
        while stack:
            each: Any = stack.pop()
            cls = type(each)
            if cls in _ATOMS:
                tokens.append(each)
            elif isinstance(each, Enum):
                tokens.append(f"{cls.__name__}.{each.name}")
            elif isinstance(each, type | types.ModuleType):
                tokens.append(f"{each.__module__}.{each.__qualname__}" if isinstance(each, type) else each.__name__)
            elif cls is tuple or cls is frozenset:
                # By value: equal ones may be one object or several.
                tokens.append(f"{cls.__name__} {len(each)}")
                stack += reversed(each if cls is tuple else _sorted(each))
            else:
                known = self._classes.get(cls)
                if known is None:
                    known = self._classes[cls] = self._class_of(cls)
                if known.is_left_out:
                    continue
                number = numbers.get(id(each))
                if number is not None:
                    tokens.append(number)
                    continue
                numbers[id(each)] = len(numbers)
                kept.append(each)
                tokens.append(known.name)
                stack += reversed(known.children(each))
        return tokens

    def _class_of(self, cls: type) -> _Class:
        left_out = _named_for(cls, self._fields_left_out)
        is_left_out = self._left_out(cls)
        return _Class(
            name=f"<{cls.__qualname__}>",
            is_left_out=is_left_out,
            slots=tuple(name for name in _slots_of(cls) if name not in left_out),
            left_out=left_out,
            any_order=_named_for(cls, self._fields_in_any_order),
            contents=_nothing if is_left_out else _contents_of(cls),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class:
    """How the objects of a class count."""

    name: str
    is_left_out: bool
    slots: tuple[str, ...]
    left_out: frozenset[str]
    any_order: frozenset[str]
    contents: Callable[[Any], Iterable[object]]

    def children(self, each: Any) -> list[object]:
        """Return the fields and the contents of an object."""
        children: list[object] = [*self.contents(each)]
        any_order = self.any_order
        for name in self.slots:
            value = getattr(each, name, _UNSET)
            children.append(_in_order(value) if name in any_order else value)
        for name, value in getattr(each, "__dict__", _NO_FIELDS).items():
            if name not in self.left_out:
                children.append(name)
                children.append(_in_order(value) if name in any_order else value)
        return children


_UNSET: Final = "(unset)"
_NO_FIELDS: Final[dict[str, Any]] = {}


def _slots_of(cls: type) -> Iterator[str]:
    for base in reversed(cls.__mro__):
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in {"__dict__", "__weakref__"}:
                is_private = name.startswith("__") and not name.endswith("__")
                yield f"_{base.__name__.lstrip('_')}{name}" if is_private else name


def _named_for(cls: type, names: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the fields that are named for a class and its bases."""
    return frozenset(name for base in cls.__mro__ for name in names.get(base.__name__, ()))


def _in_order(value: Any) -> tuple[object, ...]:
    """Return the items of a mapping, or the elements of another collection, by the text of their keys."""
    if isinstance(value, Mapping):
        return tuple((key, value[key]) for key in _sorted(value))
    return tuple(_sorted(value))


def _sorted(values: Iterable[object]) -> list[object]:
    """Return values by their texts. Raises TypeError for one whose text has its address."""
    for each in values:
        if type(each).__repr__ is object.__repr__:
            raise TypeError(f"a collection without an order has a {type(each).__qualname__}: leave it out")
    return sorted(values, key=repr)


def _contents_of(cls: type) -> Callable[[Any], Iterable[object]]:
    for known, contents in _KINDS:
        if issubclass(cls, known):
            return contents
    if cls.__module__ == "builtins" or not (cls.__flags__ & _HEAP_TYPE):
        raise TypeError(
            f"{cls.__module__}.{cls.__qualname__} has no known contents: name how it counts, or leave it out"
        )
    return _nothing


_HEAP_TYPE: Final = 1 << 9


def _nothing(_: object) -> Iterable[object]:
    return ()


def _of_mapping(value: Mapping[Any, object]) -> Iterator[object]:
    yield len(value)
    for key, each in value.items():
        yield key
        yield each


def _of_sequence(value: Collection[object]) -> Iterator[object]:
    yield len(value)
    yield from value


def _of_set(value: Collection[object]) -> Iterator[object]:
    yield len(value)
    yield from _sorted(value)


def _of_function(value: types.FunctionType) -> Iterator[object]:
    yield value.__qualname__
    for cell in value.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield "empty"
    yield value.__defaults__


def _of_method(value: types.MethodType) -> Iterator[object]:
    yield value.__func__.__qualname__
    yield value.__self__


def _of_builtin(value: types.BuiltinFunctionType) -> Iterator[object]:
    yield value.__qualname__
    if not isinstance(value.__self__, types.ModuleType):
        yield value.__self__


def _of_frame(value: Any) -> Iterator[object]:
    """The position and the variables of a coroutine or a generator."""
    frame = getattr(value, "cr_frame", None) or getattr(value, "gi_frame", None)
    yield value.__qualname__
    if frame is not None:
        yield frame.f_lasti
        for name, each in frame.f_locals.items():
            yield name
            yield each
        yield getattr(value, "cr_await", None) or getattr(value, "gi_yieldfrom", None)


def _of_iterator(value: Any) -> Iterator[object]:
    reduced = value.__reduce__()
    yield from reduced[1:]


def _hash_of(state: object) -> str:
    return hashlib.blake2b(repr(state).encode(), digest_size=8).hexdigest()


_KINDS: Final[tuple[tuple[Any, Callable[[Any], Iterable[object]]], ...]] = (
    (Mapping, _of_mapping),
    (list | deque | tuple, _of_sequence),
    (set | frozenset, _of_set),
    (types.FunctionType, _of_function),
    (types.MethodType, _of_method),
    (types.BuiltinFunctionType, _of_builtin),
    (types.CoroutineType | types.GeneratorType, _of_frame),
    (bytearray | memoryview, lambda value: (bytes(value),)),
    (range | slice | itertools.count, lambda value: (repr(value),)),
    (partial, lambda value: (value.func, value.args, value.keywords)),
    (random.Random | LazyRandom, lambda value: (_hash_of(value.getstate()),)),
    (BaseException, lambda value: (str(value),)),
    (type(iter([])) | type(iter(())) | type(iter({})) | zip | map | enumerate, _of_iterator),
)
