"""The table of `broker-sim protocol coverage` equals the lists of the tests, and every declared version is proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs import coverage
from protocol_specs.coverage import VECTORS
from tests.against.coverage import now
from tests.against.peers import PEERS, installed, shared
from tests.protocol_specs.test_java_vectors import with_declarations

if TYPE_CHECKING:
    from protocol_specs.message import Message

WRITE = "run `python -m tests.against.coverage` to write data/coverage.json anew"


def claimed(source: str) -> set[tuple[type[Message], int]]:
    return {(pair.cls, pair.version) for pair in coverage.load().pairs() if source in pair.sources}


def test_every_vector_proof_that_is_claimed_is_a_vector_that_is_tried() -> None:
    assert claimed(VECTORS) == {(cls, vector["version"]) for cls, vector in with_declarations()}, WRITE


def test_every_proof_by_a_peer_that_is_claimed_is_a_test_that_runs() -> None:
    for name in PEERS:
        assert claimed(name) <= {*shared(name)}, (name, WRITE)


def test_nothing_that_is_proven_is_left_out_by_the_versions_of_the_peers_that_were_seen() -> None:
    for name in PEERS:
        if installed(name) == coverage.load().source(name).version:
            assert claimed(name) == {*shared(name)}, (name, WRITE)


def test_the_file_is_as_it_is_written() -> None:
    written, today = coverage.load(), now()
    assert {*written.proven} == {*today.proven}, WRITE
    assert [source.name for source in written.sources] == [source.name for source in today.sources], WRITE
    assert coverage.parse(coverage.as_text(written)) == written


def test_every_declared_version_is_proven_or_named_as_having_no_source() -> None:
    bare = [pair for pair in coverage.load().pairs() if not pair.sources]
    assert [pair for pair in bare if not pair.excuse] == []
    declared = {f"{pair.cls.__name__} {pair.version}": pair for pair in coverage.load().pairs()}
    assert [name for name in coverage.load().excuses if name not in declared or declared[name].sources] == []
