"""Test coverage of each version of each declaration: vectors made by Kafka's own classes, and independent codecs.

The table in data/coverage.json is written by `python -m tests.against.coverage` from the lists that the tests run over,
and tests compare the two: the table claims nothing that no test covers. The versions are read from the declarations at
each call, so that a version without a test is counted as such.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from protocol_specs import registry
from protocol_specs.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from protocol_specs.message import Kind, Message

VECTORS: Final = "vectors"
"""The source that is not a codec: messages and their bytes, made by Kafka's own classes."""


class UnknownSource(ProtocolError):
    """No source of proof has that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One independent source: `proof` is its method, `run_by` the make target that runs it."""

    name: str
    version: str
    proof: str
    run_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One declared (message, version) and the names of the sources that prove it; `excuse` where there can be none."""

    cls: type[Message]
    version: int
    sources: tuple[str, ...]
    excuse: str

    @property
    def is_unstable(self) -> bool:
        """True if brokers serve it only with `unstable.api.versions.enable`."""
        return self.version in self.cls.UNSTABLE

    @property
    def peers(self) -> tuple[str, ...]:
        """The independent codecs among the sources."""
        return tuple(name for name in self.sources if name != VECTORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of pairs by proof; `excused` are the pairs without proof that have an excuse."""

    declared: int
    by_source: Mapping[str, int]
    by_a_peer: int
    nothing: int
    excused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The table: sources, and the versions of each declaration that each of them proves."""

    sources: tuple[Source, ...]
    proven: Mapping[str, Mapping[str, tuple[int, ...]]]
    excuses: Mapping[str, str]

    def source(self, name: str) -> Source:
        """A source by name; raise UnknownSource."""
        for source in self.sources:
            if source.name == name:
                return source
        raise UnknownSource(f"no source {name!r}: there are {', '.join(source.name for source in self.sources)}")

    def pairs(self, declarations: Iterable[type[Message]] | None = None) -> Iterator[Pair]:
        """Every declared version, in the order of the registry; of the given declarations alone when there are some."""
        for cls in registry.every_message() if declarations is None else declarations:
            proofs = self.proven.get(cls.__name__, {})
            for version in cls.VERSIONS:
                names = tuple(source.name for source in self.sources if version in proofs.get(source.name, ()))
                excuse = self.excuses.get(f"{cls.__name__} {version}", "")
                yield Pair(cls=cls, version=version, sources=names, excuse=excuse)

    def count(self, pairs: Sequence[Pair]) -> Count:
        """Count pairs by proof."""
        bare = [pair for pair in pairs if not pair.sources]
        return Count(
            declared=len(pairs),
            by_source={s.name: sum(s.name in pair.sources for pair in pairs) for s in self.sources},
            by_a_peer=sum(bool(pair.peers) for pair in pairs),
            nothing=len(bare),
            excused=sum(bool(pair.excuse) for pair in bare),
        )


def by_kind(pairs: Iterable[Pair]) -> dict[Kind, list[Pair]]:
    """The pairs of each kind of declaration, kinds in the order in which they come."""
    found: dict[Kind, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.cls.KIND, []).append(pair)
    return found


@cache
def load() -> Coverage:
    """The table as it was last written."""
    return parse(files("protocol_specs").joinpath("data/coverage.json").read_text("utf-8"))


def parse(text: str) -> Coverage:
    """The table behind its JSON text."""
    raw: dict[str, Any] = json.loads(text)
    return Coverage(
        sources=tuple(Source(name=name, **values) for name, values in raw["sources"].items()),
        proven={
            message: {source: tuple(versions_of(ranges)) for source, ranges in proofs.items()}
            for message, proofs in raw["proven"].items()
        },
        excuses=raw["no_source"],
    )


def as_text(coverage: Coverage) -> str:
    """The JSON text of a table: one line per declaration, so that a diff shows the changed ones alone."""
    head = {
        "sources": {s.name: {"version": s.version, "proof": s.proof, "run_by": s.run_by} for s in coverage.sources},
        "no_source": dict(coverage.excuses),
    }
    lines = []
    for message, proofs in coverage.proven.items():
        ranges = {source: ranges_of(versions) for source, versions in proofs.items()}
        lines.append(f"  {json.dumps(message)}: {json.dumps(ranges)}")
    listed = ",\n".join(lines)
    return f'{json.dumps(head, indent=1).removesuffix("}").rstrip()},\n "proven": {{\n{listed}\n }}\n}}\n'


def ranges_of(versions: Sequence[int]) -> str:
    """`0-2, 5`: ascending versions as ranges."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and runs[-1][1] == version - 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


def versions_of(ranges: str) -> list[int]:
    """The versions behind `0-2, 5`."""
    found: list[int] = []
    for part in ranges.split(", ") if ranges else ():
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found
