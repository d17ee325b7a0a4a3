"""Writes protocol_specs/data/coverage.json from the lists that the tests run over: `python -m tests.against.coverage`.

Vectors and Python codecs are always used; Kafka's Java classes are run with `--java`, and taken
from the present file without. Beside this file test_coverage.py holds the table current, and for Java
tests/interop/test_message_readers.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

import protocol_specs
from protocol_specs import coverage, registry
from protocol_specs.coverage import VECTORS, Coverage, Source
from protocol_specs.message import Kind
from tests.against.peers import PEERS, installed, shared
from tests.protocol_specs.test_java_vectors import vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from protocol_specs.message import Message

FILE: Final = Path(protocol_specs.__file__).parent / "data" / "coverage.json"

NO_SOURCE: Final[dict[str, str]] = {}
"""`"Message version"` -> why nothing independent can prove it. None is needed: Kafka's classes made vectors of all."""

_JAVA: Final = ("3.7.2", "4.3.1")


def java_source(release: str) -> str:
    """The name of a Kafka release's own classes as a source."""
    return f"java-{release}"


def now(java: Mapping[str, Iterable[tuple[type[Message], int]]] | None = None) -> Coverage:
    """The table of today; `java` are the pairs that the classes of a release read and wrote, by source."""
    pairs: dict[str, Iterable[tuple[str, int]]] = {VECTORS: _with_vectors()}
    for name in PEERS:
        pairs[name] = [(cls.__name__, version) for cls, version in shared(name)]
    for release in _JAVA:
        name = java_source(release)
        pairs[name] = [(cls.__name__, version) for cls, version in java[name]] if java else _as_written(name)
    proven: dict[str, dict[str, tuple[int, ...]]] = {}
    for cls in registry.every_message():
        found = {source: _versions(cls.__name__, some) for source, some in pairs.items()}
        proven[cls.__name__] = {source: versions for source, versions in found.items() if versions}
    return Coverage(sources=_sources(), proven=proven, excuses=NO_SOURCE)


def _sources() -> tuple[Source, ...]:
    vectors_proof = "their bytes decode to their value, their value encodes to their bytes, in both codecs"
    peer_proof = "drawn values: it reads our bytes, and writes the same ones"
    java_proof = "drawn values: they read our bytes and our JSON, and write the same bytes and JSON"
    releases = ", ".join(sorted({vector["release"] for vector in vectors()}))
    return (
        Source(name=VECTORS, version=f"Kafka {releases}", proof=vectors_proof, run_by="make test"),
        *(Source(name=name, version=installed(name), proof=peer_proof, run_by="make test") for name in PEERS),
        *(Source(name=java_source(r), version=f"Kafka {r}", proof=java_proof, run_by="make interop") for r in _JAVA),
    )


def _with_vectors() -> list[tuple[str, int]]:
    return [(registry.find(v["api"], Kind(v["kind"])).__name__, v["version"]) for v in vectors()]


def _as_written(source: str) -> list[tuple[str, int]]:
    proven = coverage.load().proven
    return [(message, version) for message, proofs in proven.items() for version in proofs.get(source, ())]


def _versions(message: str, pairs: Iterable[tuple[str, int]]) -> tuple[int, ...]:
    return tuple(sorted({version for name, version in pairs if name == message}))


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--java", action="store_true", help="run Kafka's own classes too (needs a JDK and Maven)")
    java = None
    if parser.parse_args().java:
        from tests.interop.java_messages import pairs_of
        from tests.interop.kafka_release import RELEASES

        java = {java_source(release): pairs_of(release) for release in RELEASES}
    FILE.write_text(coverage.as_text(now(java)), "utf-8")


if __name__ == "__main__":
    main()
