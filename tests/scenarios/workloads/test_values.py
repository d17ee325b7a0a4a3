import zlib

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.values import value_bytes, value_id_of


@pytest.mark.parametrize("size", [8, 9, 100, 70_000, 200_000])
def test_a_value_has_its_size_and_gives_its_id_back(size):
    value = value_bytes(123_456_789_012, size)
    assert len(value) == size
    assert value_id_of(value) == value_id_of(memoryview(value)) == 123_456_789_012


def test_the_filler_differs_by_id_and_is_about_as_redundant_as_text():
    assert value_bytes(1, 100)[8:] != value_bytes(2, 100)[8:]
    assert 0.4 < len(zlib.compress(value_bytes(1, 10_000))) / 10_000 < 0.7


def test_foreign_bytes_have_no_id():
    assert value_id_of(None) == value_id_of(b"short") == -1


def test_a_value_too_small_for_its_id_is_refused():
    with pytest.raises(ScenarioError, match="a value of 7 bytes cannot hold its id"):
        value_bytes(1, 7)


def test_a_value_of_javas_verifiable_producer_counts_from_its_prefix() -> None:
    assert [value_id_of(text) for text in (b"0.0", b"20.7", b"1048576.12")] == [0, 27, 1_048_588]
    assert value_id_of(b"20.7.1") == value_id_of(b"20") == value_id_of(b"") == -1
