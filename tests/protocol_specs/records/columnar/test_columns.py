"""The columns themselves: made of Python's values, of Arrow's layout, and of Arrow's tables and back."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.fuzzing.strategies import records
from protocol_specs.records.columnar import arrow
from protocol_specs.records.columnar.arrays import copy_strings, gather_strings
from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn, join_columns
from protocol_specs.records.record_batch import Record

ROOT = Path(__file__).parents[3]
HEADER = pa.struct({"key": pa.string(), "value": pa.binary()})
BORDERS = [0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 130, 511, 512, 513, 8191, 8192, 8193]


@given(strings=st.lists(st.none() | st.binary(max_size=90), max_size=40))
def test_strings_are_what_they_were_made_of(strings: list[bytes | None]) -> None:
    column = StringColumn.of(strings)
    assert list(column) == strings
    assert [column[index] for index in range(len(column))] == strings
    assert column.nulls.tolist() == [string is None for string in strings]
    offsets, data = column.packed()
    assert [data[start:end].tobytes() for start, end in pairwise(offsets)] == [string or b"" for string in strings]


@given(sizes=st.lists(st.sampled_from(BORDERS), min_size=1, max_size=30), gap=st.integers(0, 9))
def test_copies_of_any_sizes_touch_nothing_else(sizes: list[int], gap: int) -> None:
    source = np.random.default_rng(1).integers(1, 255, sum(sizes), np.uint8)
    lengths = np.array(sizes)
    offsets = np.cumsum(lengths) - lengths
    places = offsets + gap * np.arange(1, len(sizes) + 1)
    target = np.zeros(sum(sizes) + gap * (len(sizes) + 1), np.uint8)
    copy_strings(target, places, source, offsets, lengths)
    wanted = bytes(gap) + b"".join(
        source[start : start + size].tobytes() + bytes(gap) for start, size in zip(offsets, sizes, strict=True)
    )
    assert target.tobytes() == wanted
    assert gather_strings(target, places, lengths)[1].tobytes() == source.tobytes()


@pytest.mark.parametrize("size", [-1, 0, 1, 5, 8191, 8192])
def test_strings_of_one_size_are_the_same_column_as_strings_of_any_size(size: int) -> None:
    data = np.random.default_rng(1).integers(0, 255, 30_000, np.uint8)
    starts = np.array([9, 20_000, 700])
    equal, other = StringColumn.of_equal(data, starts, size), StringColumn(data, starts, np.full(3, size))
    assert list(equal) == list(other)
    assert equal.size_range == other.size_range == (size, size)
    assert equal.nulls.tolist() == other.nulls.tolist()
    array, expected = (RecordColumns(value=column).to_arrow()["value"].chunk(0) for column in (equal, other))
    array.validate(full=True)
    assert array.equals(expected)
    assert array.to_pylist() == list(other)


def test_strings_of_one_size_past_the_limit_of_arrows_offsets_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    column = StringColumn.of_equal(np.zeros(9, np.uint8), np.array([0, 3]), 3)
    for limit, kind in ((6, pa.binary()), (5, pa.large_binary())):
        monkeypatch.setattr(arrow, "_INT32_MAX", limit)
        array = RecordColumns(value=column).to_arrow()["value"].chunk(0)
        array.validate(full=True)
        assert (array.type, array.to_pylist()) == (kind, [bytes(3)] * 2)


def test_a_column_without_strings_has_the_sizes_of_null() -> None:
    assert StringColumn.of(()).size_range == (-1, -1)
    assert StringColumn.of([b"abc", None]).size_range == (-1, 3)


def test_offsets_of_arrows_layout_are_taken_and_checked() -> None:
    column = StringColumn.from_offsets(b"abcde", np.array([1, 1, 3, 5]), [True, True, False])
    assert list(column) == [b"", b"bc", None]
    for offsets in ([0, 6], [-1, 2], [3, 1], []):
        with pytest.raises(ValueError, match="offsets"):
            StringColumn.from_offsets(b"abcde", np.array(offsets, np.int64))


def test_columns_of_other_lengths_or_types_are_refused() -> None:
    value = StringColumn.of([b"a", b"b"])
    with pytest.raises(ValueError, match="columns differ in length: timestamp 3, value 2"):
        RecordColumns(timestamp=[1, 2, 3], value=value)
    with pytest.raises(ValueError, match="column timestamp has the numpy type float64 of 1 dimensions, not int64"):
        RecordColumns(timestamp=[1.5, 2], value=value)
    with pytest.raises(ValueError, match="uint64"):
        RecordColumns(timestamp=np.array([1, 2], np.uint64), value=value)


@given(drawn=records(max_size=20), split=st.integers(0, 20))
def test_records_survive_columns_arrow_and_joining(drawn: list[Record], split: int) -> None:
    columns = RecordColumns.of_records(drawn)
    assert columns.to_records() == drawn
    table = columns.to_arrow()
    table.validate(full=True)
    assert RecordColumns.from_arrow(table).to_records() == drawn
    assert RecordColumns.from_arrow(table.slice(split)).to_records() == drawn[split:]
    assert RecordColumns.from_arrow(pa.concat_tables([table, table])).to_records() == drawn * 2
    parts = [RecordColumns.of_records(drawn[:split]), RecordColumns.of_records(drawn[split:])]
    assert join_columns(parts).to_records() == drawn


def test_a_table_has_kafkas_names_and_arrows_types() -> None:
    drawn = [Record(offset=4, timestamp=7, key=None, value=b"v", headers=(("name", None), ("x", b"y")))]
    table = RecordColumns.of_records(drawn).to_arrow()
    assert table.to_pylist() == [
        {
            "offset": 4,
            "timestamp": 7,
            "key": None,
            "value": b"v",
            "headers": [{"key": "name", "value": None}, {"key": "x", "value": b"y"}],
        }
    ]
    assert RecordColumns(value=StringColumn.of([b"a"])).to_arrow().to_pydict() == {"value": [b"a"]}


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.string_view(), pa.binary_view()]
)
def test_keys_and_values_are_taken_in_every_type_of_bytes(kind: Any) -> None:
    table = pa.table({"key": pa.array(["a", None, "", "long enough to lie outside of a view"], kind)})
    assert list(RecordColumns.from_arrow(table).key) == [b"a", None, b"", b"long enough to lie outside of a view"]
    assert list(RecordColumns.from_arrow(table.slice(1, 2)).key) == [None, b""]


def test_other_types_of_arrow_that_mean_the_same_are_taken() -> None:
    table = pa.table(
        {
            "timestamp": pa.array([1, 2], pa.timestamp("ms")),
            "offset": pa.array([3, 4], pa.uint32()),
            "key": pa.array([None, None], pa.null()),
            "value": pa.array([b"abc", None], pa.binary(3)),
            "headers": pa.array([None, [{"key": b"a", "value": "b"}]],
                                pa.large_list(pa.struct({"key": pa.binary(), "value": pa.string()}))),
        }
    )  # fmt: skip
    assert RecordColumns.from_arrow(table).to_records() == [
        Record(offset=3, timestamp=1, key=None, value=b"abc"),
        Record(offset=4, timestamp=2, key=None, value=None, headers=(("a", b"b"),)),
    ]
    assert RecordColumns.from_arrow(table.to_batches()[0]).to_records()[1].headers == (("a", b"b"),)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"values": [b"a"]}, "column 'values' is no part of a record; its columns are offset, timestamp, key"),
        ({"value": [1]}, "column value has the type int64, not binary or string"),
        ({"timestamp": [1.5]}, "column timestamp has the type double, not int64"),
        ({"timestamp": [1, None]}, "column timestamp has 1 nulls"),
        ({"offset": pa.array([1 << 63], pa.uint64())}, "column offset does not fit into int64"),
        ({"headers": [1]}, "column headers has the type int64, not a list"),
        ({"headers": [[{"key": "a"}]]}, "not structs of key and value"),
        (
            {"headers": pa.array([[{"key": None, "value": b"a"}]], pa.list_(HEADER))},
            "column headers has a header without a key",
        ),
    ],
)  # fmt: skip
def test_tables_that_are_no_records_are_refused_by_name(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RecordColumns.from_arrow(pa.table(table))


def test_header_keys_that_are_not_utf_8_become_strings_with_replacements() -> None:
    headers = HeadersColumn(np.array([0, 1]), StringColumn.of([b"\xffa"]), StringColumn.of([None]))
    assert RecordColumns(headers=headers).to_arrow().to_pydict() == {"headers": [[{"key": "\ufffda", "value": None}]]}


@pytest.mark.parametrize(
    ("package", "statement"),
    [
        ("numpy", "import protocol_specs.records.columnar.reader"),
        ("numpy", "import protocol_specs.records.columnar.builder"),
        (
            "pyarrow",
            "from protocol_specs.records.columnar.columns import RecordColumns; RecordColumns(offset=[1]).to_arrow()",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package: str, statement: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules[{package!r}] = None; {statement}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.endswith(f"columnar records need the package {package}: pip install 'broker-sim[arrow]'")


def test_the_record_formats_import_neither_numpy_nor_arrow() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import protocol_specs.records.record_batch; "
        "assert not {'numpy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
