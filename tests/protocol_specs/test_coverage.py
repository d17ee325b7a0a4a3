"""The coverage table: ranges and text there and back, what is counted, what is not proven is seen."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import coverage
from protocol_specs.coverage import UnknownSource, ranges_of, versions_of
from protocol_specs.message import Kind
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest


def without_proofs_of(message: str, excuses: dict[str, str]) -> coverage.Coverage:
    table = coverage.load()
    proven = {name: proofs for name, proofs in table.proven.items() if name != message}
    return dataclasses.replace(table, proven=proven, excuses=excuses)


@given(st.sets(st.integers(0, 30)).map(sorted))
def test_versions_come_back_from_their_ranges(versions: list[int]) -> None:
    assert versions_of(ranges_of(versions)) == versions


def test_ranges_are_short() -> None:
    assert ranges_of([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_a_table_comes_back_from_its_text() -> None:
    assert coverage.parse(coverage.as_text(coverage.load())) == coverage.load()


def test_a_declaration_without_a_test_is_counted_as_proven_by_nothing() -> None:
    table = without_proofs_of("HeartbeatRequest", {})
    counted = table.count(list(table.pairs()))
    assert (counted.nothing, counted.excused) == (5, 0)


def test_an_excuse_is_counted_apart() -> None:
    table = without_proofs_of("HeartbeatRequest", {"HeartbeatRequest 4": "no source"})
    pairs = list(table.pairs([HeartbeatRequest]))
    counted = table.count(pairs)
    assert (counted.declared, counted.nothing, counted.excused) == (5, 5, 1)
    assert [pair.excuse for pair in pairs] == ["", "", "", "", "no source"]


def test_every_declared_version_is_one_pair_of_its_kind() -> None:
    pairs = list(coverage.load().pairs())
    by_kind = coverage.by_kind(pairs)
    assert list(by_kind)[:3] == [Kind.REQUEST, Kind.RESPONSE, Kind.HEADER]
    assert sum(map(len, by_kind.values())) == len(pairs) == len({(pair.cls, pair.version) for pair in pairs})


def test_vectors_are_no_peer() -> None:
    table = coverage.load()
    pair = next(table.pairs([HeartbeatRequest]))
    assert pair.sources == ("vectors", *pair.peers)
    assert table.count([pair]).by_a_peer == 1


def test_unstable_versions_are_marked() -> None:
    marked = [pair.version for pair in coverage.load().pairs([InitProducerIdRequest]) if pair.is_unstable]
    assert marked == [6]


def test_an_unknown_source_is_refused_by_name() -> None:
    with pytest.raises(UnknownSource, match="no source 'koi': there are vectors, kio, kafka-python"):
        coverage.load().source("koi")
