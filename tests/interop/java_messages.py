"""Kafka's own message classes with drawn messages: they read, write and refuse them. One JVM reads all cases.

Each sound case is proven in both directions by value: Java reads our bytes and returns its value as JSON and as bytes,
then reads our JSON value and returns its bytes. Where a release has no JSON converter for a class, the bytes alone.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings

from protocol_specs.fuzzing import strategies
from protocol_specs.json_form import from_json, to_json
from protocol_specs.message import Kind
from tests.interop.kafka_release import java_tool
from tests.interop.prepared_release import java_command
from tests.protocol_specs.every_message import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

PROGRAM: Final = Path(__file__).parent / "java" / "ReadMessages.java"
RUN_SECONDS_MAX: Final = 200
EXAMPLES: Final = 10
"""How many sound and how many broken cases each message version has."""

SOUND: Final = ""
_NO_VERSION: Final = "no version"
_QUICK: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

DRAFTS: Final[Mapping[str, tuple[str, ...]]] = {
    "3.7.2": (
        "ConsumerGroupDescribeResponse",
        "ConsumerGroupCurrentMemberAssignmentValue",
        "ConsumerGroupMemberMetadataValue",
        "ConsumerGroupPartitionMetadataValue",
        "ConsumerGroupTargetAssignmentMemberValue",
    )
}
"""What a release has in a form that never was stable: the new group protocol was in early access (KIP-848)."""

LATER_TAGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "3.7.2": {
        "ConsumerGroupMetadataValue": ("metadataHash",),
        "ConsumerGroupTargetAssignmentMetadataValue": ("assignmentTimestamp",),
        "OffsetCommitValue": ("topicId",),
        "RemoteLogSegmentMetadataRecord": ("txnIndexEmpty",),
        "RemoteLogSegmentMetadataSnapshotRecord": ("txnIndexEmpty",),
        "TransactionLogValue": (
            "previousProducerId",
            "nextProducerId",
            "clientTransactionVersion",
            "nextProducerEpoch",
        ),
    }
}
"""Tags that came after a release, in a version that it has: it carries them as unknown, and sees no fault in them."""

LATER_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "3.7.2": {"candidateEpoch": "replicaEpoch", "candidateId": "replicaId", "lastKnownELR": "lastKnownElr"}
}
"""Fields that had another name in a release, which is nothing to the bytes."""

NUMBERS_AS_TEXT: Final = ('"Infinity"', '"-Infinity"')
"""Floats that Kafka's JSON converters write as text, and do not read."""

_WRONG_SIZE: Final = "a known tag has a wrong size"
_OTHER_VERSION: Final = "a tag belongs to another version"


class Case(NamedTuple):
    """Bytes of one message version, the rule that they break, whether they are to be refused, their value as JSON."""

    cls: type[Message]
    version: int
    data: bytes
    rule: str
    refused: bool
    value: dict[str, Any] | None = None

    def line(self, release: str) -> str:
        """The case as Java's program reads it."""
        value = "" if self.value is None else json.dumps(self.value)
        return f"{self.cls.__name__}\t{java_version(self.cls, self.version, release)}\t{self.data.hex()}\t{value}\n"


class JavaResult(NamedTuple):
    """Bytes that Java wrote after it read ours, its JSON of them, and bytes that it wrote from our JSON."""

    release: str
    case: Case
    written: str
    value: str
    from_value: str

    @property
    def has_value(self) -> bool:
        """True if the release has a JSON converter for the class."""
        return bool(self.value)

    def expected_value(self) -> Any:
        """The JSON that is to be found. Java's converters write records as none: the bytes written prove those."""
        return _without_records(self._value())

    def found_value(self) -> Any:
        """The JSON that Java found, in the names of today."""
        return _renamed(json.loads(self.value), LATER_NAMES.get(self.release, {}))

    def expected_bytes(self) -> str:
        """The bytes of the value in hex: JSON has no unknown tags."""
        return from_json(self.case.cls, self.case.version, self._value()).encode(self.case.version).hex()

    @property
    def is_readable_json(self) -> bool:
        """True if the release can read our JSON: there is a converter, and it knows all the names and numbers in it."""
        line = self.case.line(self.release)
        later = (f'"{name}"' for name in LATER_NAMES.get(self.release, {}).values())
        return self.has_value and not any(text in line for text in (*later, *NUMBERS_AS_TEXT))

    @property
    def is_of_later_tags(self) -> bool:
        """True if the broken rule is about tags, of which this release does not know all yet."""
        if self.case.rule == _OTHER_VERSION:
            return (self.case.cls, self.case.cls.VERSIONS.highest) not in pairs_of(self.release)
        return self.case.rule == _WRONG_SIZE and self.case.cls.__name__ in LATER_TAGS.get(self.release, {})

    def _value(self) -> dict[str, Any]:
        assert self.case.value is not None
        later = LATER_TAGS.get(self.release, {}).get(self.case.cls.__name__, ())
        return {name: item for name, item in self.case.value.items() if name not in later}


def java_version(cls: type[Message], version: int, release: str) -> int:
    """Before 4.0 the record type of a coordinator's key was the key's version (KIP-915)."""
    return cls.RECORD_TYPE if cls.KIND is Kind.COORDINATOR_KEY and release.startswith("3.") else version


@cache
def results(release: str) -> tuple[JavaResult, ...]:
    """Return the results of a release for every case of a message version that it has."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    drawn = [case for case in every_case() if case.cls.__name__ not in DRAFTS.get(release, ())]
    run = subprocess.run(
        [*java_command(release), str(PROGRAM)],
        input="".join(case.line(release) for case in drawn),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.split("\n")[:-1]
    responses = (JavaResult(release, case, *line.split("\t")) for case, line in zip(drawn, lines, strict=True))
    return tuple(result for result in responses if result.written != _NO_VERSION)


@cache
def pairs_of(release: str) -> tuple[tuple[type[Message], int], ...]:
    """Return the message versions that a release has: those of its results."""
    return tuple(dict.fromkeys((result.case.cls, result.case.version) for result in results(release)))


@cache
def every_case() -> tuple[Case, ...]:
    """Drawn cases of every declared message version, sound and broken."""
    return tuple(case for cls, version in MESSAGES for case in _drawn(cls, version))


def _drawn(cls: type[Message], version: int) -> list[Case]:
    drawn: list[Case] = []

    @_QUICK
    @given(strategies.message(cls, version), strategies.nearly_valid(cls, version))
    def draw(message: Message, broken: strategies.NearlyValid) -> None:
        value = to_json(message, version)
        drawn.append(Case(cls, version, message.encode(version), SOUND, refused=False, value=value))
        drawn.append(Case(cls, version, *broken))

    draw()
    return drawn


def _without_records(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "" if name in {"records", "unalignedRecords"} and item is not None else _without_records(item)
            for name, item in value.items()
        }
    return [_without_records(item) for item in value] if isinstance(value, list) else value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(name, name): _renamed(item, names) for name, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value
