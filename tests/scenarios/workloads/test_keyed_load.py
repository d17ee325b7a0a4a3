from collections import Counter

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.keyed_load import KeyedLoad, LoadSpec, SizeShare, build_load, shares_of

SPEC = LoadSpec(
    topic="orders",
    records=5_000,
    producers=4,
    keys=200,
    zipf=1.1,
    sizes=(SizeShare(size_bytes=100, share=7), SizeShare(size_bytes=1_000, share=3)),
    rate_per_s=2_000,
)

GOLDEN = [
    (0, 2, "orders", b"key-124", 100, 0),
    (1, 1, "orders", b"key-001", 100, 500),
    (4_999, 1, "orders", b"key-166", 100, 2_499_500),
]


def test_the_same_seed_gives_the_same_load_and_another_seed_another():
    assert build_load(SPEC, 7) == build_load(SPEC, 7)
    assert build_load(SPEC, 7) != build_load(SPEC, 8)


def test_a_load_is_the_same_in_any_parts():
    whole = build_load(SPEC, 7)
    load = KeyedLoad(SPEC, 7)
    parts = [row for start in (2_500, 0, 3_750, 1_250) for row in load.rows(range(start, start + 1_250))]
    assert sorted(parts) == whole


def test_a_load_stays_the_same_from_version_to_version():
    assert [tuple(row) for row in KeyedLoad(SPEC, 7).rows((0, 1, 4_999))] == GOLDEN


def test_each_producer_gets_its_own_rows_in_the_order_of_the_load():
    load = build_load(SPEC, 7)
    shares = shares_of(load, SPEC.producers)
    assert [{row.producer_id for row in share} for share in shares] == [{0}, {1}, {2}, {3}]
    assert all(share == sorted(share) for share in shares)
    assert sum(map(len, shares)) == len(load)


def test_keys_follow_zipfs_law():
    counts = Counter(row.key for row in build_load(SPEC, 7))
    expected = 5_000 / sum(rank**-1.1 for rank in range(1, 201))
    assert counts[b"key-000"] == pytest.approx(expected, rel=0.1)
    assert counts[b"key-001"] == pytest.approx(expected / 2**1.1, rel=0.15)


def test_sizes_and_producers_come_in_their_shares():
    load = build_load(SPEC, 7)
    assert Counter(row.size_bytes for row in load)[1_000] == pytest.approx(1_500, rel=0.1)
    producers = Counter(row.producer_id for row in load)
    assert sorted(producers) == [0, 1, 2, 3]
    assert min(producers.values()) > 1_100


def test_records_are_due_at_the_rate_of_all_producers_together():
    due = [row.due_us for row in build_load(SPEC, 7)]
    assert (due[0], due[1], due[2_000]) == (0, 500, 1_000_000)


def test_without_a_rate_everything_is_due_at_once():
    load = build_load(LoadSpec(topic="t", records=3), 1)
    assert [row.due_us for row in load] == [0, 0, 0]


def test_without_keys_every_key_is_null():
    assert [row.key for row in build_load(LoadSpec(topic="t", records=3, keys=0), 1)] == [None] * 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"records": 0}, "records is 0, at least 1"),
        ({"producers": 0}, "producers is 0, at least 1"),
        ({"zipf": -1}, "zipf is -1, at least 0"),
        ({"keys": 2_000_000}, "keys is 2000000, at most 1000000"),
        ({"sizes": ()}, "sizes needs at least one size"),
        ({"sizes": (SizeShare(size_bytes=7),)}, "sizes.size_bytes is 7, at least 8"),
        ({"rate_per_s": 0}, "rate_per_s is 0"),
    ],
)
def test_a_load_that_cannot_be_is_refused_by_name(wrong, message):
    with pytest.raises(ScenarioError, match=message):
        LoadSpec(**{"topic": "t", "records": 1, **wrong})
