"""The iteration order of Java's and Scala's hash tables, from which Kafka makes responses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

SMALLEST_TRIE: Final = 5
"""The size from which an immutable set or map is a trie; the result of groupBy is always one."""

HASHES_KEPT_MAX: Final = 1 << 14
"""The size of the cache of hashes: the same names are hashed often."""

_LOAD_FACTOR = 0.75
_SMALLEST_TABLE = 16
_HASH_BITS = 32
_BRANCH_BITS = 5
_BRANCHES = 1 << _BRANCH_BITS
_INT32_MASK = (1 << 32) - 1
_INT64_MASK = (1 << 64) - 1
_FIBONACCI = -7046029254386353131


@lru_cache(HASHES_KEPT_MAX)
def string_hash(text: str) -> int:
    """String.hashCode, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def hash_order(texts: Iterable[str], *, beside: int = 0) -> list[str]:
    """Return distinct strings in the order of a HashMap that grew with them; equal buckets keep the given order.

    `beside` is the number of other keys in the table.
    """
    given = list(texts)
    return _ordered(given, _table_size(len(given) + beside)) if len(given) > 1 else given


def hash_order_of_set(texts: Iterable[str], *, added: Iterable[str] = ()) -> list[str]:
    """Return strings in the order of a HashSet that was made from a collection of them before others were added."""
    given = list(texts)
    names = dict.fromkeys((*given, *added))
    table = _copied_table_size(len(given))
    while len(names) > table * _LOAD_FACTOR:
        table *= 2
    return _ordered(list(names), table)


def hash_order_of_merged(put: Sequence[str], requested: Sequence[str]) -> list[str]:
    """Return distinct strings in the order of a HashMap after a `put` of some and `computeIfAbsent` of others.

    A new key of `computeIfAbsent` comes first in its bucket, and the map grows at the next call.
    """
    new = [text for text in requested if text not in put]
    before_last = len(put) + len(new) - (bool(requested) and requested[-1] not in put)
    return _ordered([*reversed(new), *put], _table_size(max(len(put), before_last)))


def hash_order_of_sized(texts: Iterable[str], capacity: int) -> list[str]:
    """Return distinct strings in the order of a HashMap that was made for `capacity` keys and grew with them."""
    given = list(texts)
    return _ordered(given, _sized_table_size(len(given), capacity))


def hash_order_of_copy(texts: Iterable[str], last: str) -> list[str]:
    """Return distinct strings in the order of a HashMap that was copied from another, before `last` was put into it."""
    given = list(texts)
    table = _copied_table_size(len(given), smallest=1)
    if len(given) + 1 > table * _LOAD_FACTOR:
        table *= 2
    return _ordered([*given, last], table)


def hash_order_of_computed(copied: Iterable[str], computed: str | None) -> list[str]:
    """Return distinct strings in the order of a HashMap that was copied from another, before `compute` added a key.

    `compute` puts a new key first into its bucket, unlike `put`. A key of the other map was removed before.
    """
    given = list(copied)
    table = _copied_table_size(len(given), smallest=1) if given else _SMALLEST_TABLE
    kept = [text for text in given if text != computed]
    return _ordered(kept if computed is None else [computed, *kept], table)


def hash_order_of_changed(copied: Iterable[str], changes: Mapping[str, bool]) -> list[str]:
    """Return the string keys of a HashMap that was copied from a map, before keys were put into it or removed from it.

    `changes` states of each key whether it was put.
    """
    kept = dict.fromkeys(copied)
    table = _copied_table_size(len(kept), smallest=1) if kept else _SMALLEST_TABLE
    for text, is_put in changes.items():
        if is_put:
            kept[text] = None
        else:
            kept.pop(text, None)
        if len(kept) > table * _LOAD_FACTOR:
            table *= 2
    return _ordered(list(kept), table)


def concurrent_hash_order(keys: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return distinct keys as a ConcurrentHashMap (from JDK 9 also java.util.Properties) lists them."""
    table = ConcurrentKeys(hash_of)
    for key in keys:
        table.put(key)
    return list(table)


def _ordered(given: list[str], table: int) -> list[str]:
    return _bucketed(given, string_hash, table)


def _bucketed(items: Iterable[T], hash_of: Callable[[T], int], table: int) -> list[T]:
    return sorted(items, key=lambda item: hash_bucket(hash_of(item), table))


def hash_order_by(items: Iterable[T], hash_of: Callable[[T], int], *, capacity: int = _SMALLEST_TABLE) -> list[T]:
    """Return items in the order of a HashMap that was made for `capacity` of them and grew with them.

    `hash_of` returns the hash of an item's key; equal buckets keep the given order.
    """
    given = list(items)
    return _bucketed(given, hash_of, _sized_table_size(len(given), capacity)) if len(given) > 1 else given


def hash_order_of_set_by(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items in the order of a HashSet that was made from a collection of them; equal buckets keep the order."""
    given = list(items)
    return _bucketed(given, hash_of, _copied_table_size(len(given)))


def computed_order(calls: Sequence[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return distinct keys in the order of a HashMap of which each was requested with `computeIfAbsent`, in this order.

    A new key comes first in its bucket. The map grows at the next call, also if that is for a key that it has.
    """
    before_last = len(set(calls[:-1]))
    return _bucketed(reversed(dict.fromkeys(calls)), hash_of, _table_size(before_last))


def hash_order_of_longs(numbers: Iterable[int]) -> list[int]:
    """Different 64-bit numbers as a HashMap that grew with them lists its keys; equal buckets keep the given order."""
    return hash_order_by(numbers, long_hash)


def long_hash(number: int) -> int:
    """Long.hashCode; bits above the lowest 32 count for nothing."""
    return number ^ (number & _INT64_MASK) >> 32


def hash_order_of_integers(numbers: Iterable[int]) -> list[int]:
    """Return distinct integers in the order of a HashSet that was made from a collection of them."""
    given = sorted(numbers)
    table = _copied_table_size(len(given))
    return sorted(given, key=lambda number: hash_bucket(number, table))


def hash_order_of_copied(numbers: Iterable[int]) -> list[int]:
    """Return distinct integers in the order of a HashSet that was made from a collection in the given order."""
    return IntegerSet(numbers).listed()


class IntegerSet:
    """A HashSet of integers: its order depends on what it was made from, and on what was added and removed since."""

    __slots__ = ("_numbers", "_table")

    def __init__(self, copied: Iterable[int] = (), *, capacity: int | None = None) -> None:
        """Copy a collection in the given order, or begin with a capacity."""
        self._numbers = dict.fromkeys(copied)
        self._table = _copied_table_size(len(self._numbers)) if capacity is None else _sized_table_size(0, capacity)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int) -> None:
        """Add a number, which comes last in its bucket."""
        self._numbers[number] = None
        if len(self._numbers) > self._table * _LOAD_FACTOR:
            self._table *= 2

    def discard(self, number: int) -> None:
        """Remove a number if it is there; the table does not shrink."""
        self._numbers.pop(number, None)

    def listed(self) -> list[int]:
        """Return the numbers in the order of the table."""
        return _bucketed(self._numbers, int, self._table)


def hash_order_of_copied_set(numbers: Iterable[int], *, copied: int, most: int) -> list[int]:
    """Return integers in the order of a HashSet that was made from `copied` of them and has had `most`."""
    table = _copied_table_size(copied)
    while most > table * _LOAD_FACTOR:
        table *= 2
    return sorted(sorted(numbers), key=lambda number: hash_bucket(number, table))


def hash_order_of_changed_map(before: Sequence[int], kept: Container[int], added: Sequence[int]) -> list[int]:
    """Return the integer keys of a HashMap that was copied from another, lost keys, and then got new ones.

    `before` are the keys of the other map in its order. If none of them is kept, the map grew with the new ones.
    """
    left = [number for number in before if number in kept]
    table = _copied_table_size(len(before), smallest=1) if left else _SMALLEST_TABLE
    while len(left) + len(added) > table * _LOAD_FACTOR:
        table *= 2
    return _bucketed([*left, *added], int, table)


def hash_order_of_copied_integers(copied: Iterable[int], added: Iterable[int]) -> list[int]:
    """Return distinct integers in the order of a HashMap that was copied from a map of some before the others came."""
    given = sorted(copied)
    table = _copied_table_size(len(given), smallest=1)
    given = sorted({*given, *added})
    while len(given) > table * _LOAD_FACTOR:
        table *= 2
    return sorted(given, key=lambda number: hash_bucket(number, table))


def hash_order_of_uuids(uuids: Iterable[bytes]) -> list[bytes]:
    """Return distinct 16-byte ids in the order of a HashMap that grew with them; equal buckets keep the given order."""
    return hash_order_by(uuids, uuid_hash)


def uuid_hash(uuid: bytes) -> int:
    """Uuid.hashCode, as an unsigned 32-bit number."""
    folded = int.from_bytes(uuid[:8], "big") ^ int.from_bytes(uuid[8:], "big")
    return (folded >> _HASH_BITS) ^ (folded & _INT32_MASK)


def concurrent_order(hashes: Iterable[int], *, count: int) -> list[int]:
    """The places of some of the `count` keys of a ConcurrentHashMap in the order in which it lists them."""
    given = list(hashes)
    table = _SMALLEST_TABLE
    while count >= table * _LOAD_FACTOR:
        table *= 2
    return sorted(range(len(given)), key=lambda place: hash_bucket(given[place], table))


class ConcurrentKeys(Generic[T]):
    """The keys of a ConcurrentHashMap in the order in which it lists them. Mirrors putVal and transfer.

    `hash_of` returns the hash of a key: for strings `string_hash`, for 64-bit numbers `long_hash`.
    """

    def __init__(self, hash_of: Callable[[T], int]) -> None:
        self._hash_of = hash_of
        self._bins: list[list[T]] = [[] for _ in range(_SMALLEST_TABLE)]
        self._count = 0

    def __iter__(self) -> Iterator[T]:
        return (key for keys in self._bins for key in keys)

    def put(self, key: T) -> None:
        """Add a key, if it is not there, to the end of its bin."""
        keys = self._bins[hash_bucket(self._hash_of(key), len(self._bins))]
        if key in keys:
            return
        keys.append(key)
        self._count += 1
        if self._count >= len(self._bins) * _LOAD_FACTOR:
            self._grow()

    def put_all(self, keys: Sequence[T]) -> None:
        """Add the keys of another map, which makes room for half as many again first. Mirrors putAll and tryPresize."""
        wanted = 1 << (len(keys) + (len(keys) >> 1)).bit_length()
        while wanted > len(self._bins) * _LOAD_FACTOR:
            self._grow()
        for key in keys:
            self.put(key)

    def remove(self, key: T) -> None:
        """Remove a key; do nothing if it is not there."""
        keys = self._bins[hash_bucket(self._hash_of(key), len(self._bins))]
        if key in keys:
            keys.remove(key)
            self._count -= 1

    def _grow(self) -> None:
        """Split each bin into two: keys behind the last that changes the bin keep their order, others come reversed."""
        before = len(self._bins)
        grown: list[list[T]] = [[] for _ in range(2 * before)]
        for keys in self._bins:
            places = [hash_bucket(self._hash_of(key), 2 * before) for key in keys]
            last_run = len(keys) - 1
            while last_run > 0 and places[last_run - 1] == places[-1]:
                last_run -= 1
            if keys:
                grown[places[-1]] = keys[last_run:]
            for key, place in zip(keys[:last_run], places, strict=False):
                grown[place].insert(0, key)
        self._bins = grown


def list_hash(numbers: Iterable[int]) -> int:
    """List.hashCode of integers, as an unsigned 32-bit number."""
    value = 1
    for number in numbers:
        value = (31 * value + number) & _INT32_MASK
    return value


def topic_partition_hash(topic: str, partition: int) -> int:
    """TopicPartition.hashCode, as an unsigned 32-bit number."""
    return (31 * (31 + partition) + string_hash(topic)) & _INT32_MASK


def fields_hash(*hashes: int) -> int:
    """The hash of a generated Kafka message from those of its fields, as an unsigned 32-bit number."""
    value = 0
    for each in hashes:
        value = (31 * value + each) & _INT32_MASK
    return value


def hash_set_order(hashes: Iterable[int], *, copied: int = 0, most: int = 0) -> list[int]:
    """The places of elements in the order in which a Scala mutable.HashSet that grew with them lists them.

    `copied` is the number of elements, repetitions included, from which it was made at once; `most` is the number that
    it has had: it never shrinks. The keys of a mutable.HashMap have the same order.
    """
    given = [value & _INT32_MASK ^ (value & _INT32_MASK) >> 16 for value in hashes]
    table = _SMALLEST_TABLE
    if copied:
        table = 1 << max(int((copied + 1) / _LOAD_FACTOR) - 1, 4).bit_length()
    while max(len(given), most) >= table * _LOAD_FACTOR:
        table *= 2

    def bucket(place: int) -> tuple[int, int]:
        # Within a bucket the hashes ascend, as signed numbers.
        value = given[place]
        return value & table - 1, value ^ 1 << 31

    return sorted(range(len(given)), key=bucket)


def immutable_set_order(hashes: Iterable[int], *, was: int = 0) -> list[int]:
    """Return the indexes of elements in the order of Scala's immutable Set: for a small one the order of insertion.

    A larger one is a trie (CHAMP) over the hash's bits, five at a time: single elements of a node come before its
    children. `was` is the size of the set before removals: a trie stays one.
    """
    given = [_improved(value & _INT32_MASK) for value in hashes]
    places = list(range(len(given)))
    return places if max(len(places), was) < SMALLEST_TRIE else _trie_order(places, given, 0)


def _improved(value: int) -> int:
    """scala.collection.Hashing.improve."""
    value = value + ~(value << 9) & _INT32_MASK
    value ^= value >> 14
    value = value + (value << 4) & _INT32_MASK
    return value ^ value >> 10


def _trie_order(places: list[int], hashes: list[int], shift: int) -> list[int]:
    if len(places) <= 1 or shift >= _HASH_BITS:
        return places
    branches: dict[int, list[int]] = {}
    for place in places:
        branches.setdefault(hashes[place] >> shift & _BRANCHES - 1, []).append(place)
    ordered = [branches[key] for key in sorted(branches)]
    alone = [branch[0] for branch in ordered if len(branch) == 1]
    below = [branch for branch in ordered if len(branch) > 1]
    return alone + [place for branch in below for place in _trie_order(branch, hashes, shift + _BRANCH_BITS)]


def timeline_order(hashes: Iterable[int], *, replaced: bool = False, most: int = 0) -> list[int]:
    """Return the indexes of elements in the order of a TimelineHashMap into which they were put one by one.

    Mirrors BaseHashTable and SnapshottableHashTable.CurrentIterator: the elements of a slot come the newest first. A
    replacement (`replaced`) makes the table grow as a new element does; it never shrinks from the `most` that it had.
    """
    given = list(hashes)
    slots: list[list[int]] = [[], []]
    for place in range(max(len(given) + replaced, most)):
        if (place + 1) * _LOAD_FACTOR > len(slots):
            slots = _slotted((each for slot in slots for each in slot), given, 2 * len(slots))
        if place < len(given):
            slots[_fibonacci_slot(given[place], len(slots))].append(place)
    return [place for slot in slots for place in reversed(slot)]


def _slotted(places: Iterable[int], hashes: list[int], count: int) -> list[list[int]]:
    slots: list[list[int]] = [[] for _ in range(count)]
    for place in places:
        slots[_fibonacci_slot(hashes[place], count)].append(place)
    return slots


def _fibonacci_slot(value: int, count: int) -> int:
    return (value * _FIBONACCI & _INT64_MASK) >> 65 - count.bit_length()


def _table_size(entries: int) -> int:
    return _sized_table_size(entries, _SMALLEST_TABLE)


def _sized_table_size(entries: int, capacity: int) -> int:
    """Return the size of the table of a map that was made for `capacity` keys and grew to `entries`."""
    table = 1 << max(capacity - 1, 0).bit_length()
    while entries > table * _LOAD_FACTOR:
        table *= 2
    return table


def _copied_table_size(entries: int, smallest: int = _SMALLEST_TABLE) -> int:
    """The table of a collection that was made from another one of this size."""
    fitting = max(int(entries / _LOAD_FACTOR) + 1, smallest)
    return 1 << (fitting - 1).bit_length()


def hash_bucket(value: int, table: int) -> int:
    """Return the bucket of a key in a HashMap with `table` buckets, given the key's 32-bit hash, signed or not."""
    value &= _INT32_MASK
    return (value ^ value >> 16) & (table - 1)
