"""Each rule of the oracle finds a bug that is planted in the codec."""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import framed
from protocol_specs.fuzzing import oracle
from protocol_specs.fuzzing.campaign import Finding, Frame
from protocol_specs.fuzzing.oracle import Fault, check, measuring, memory_allowed
from protocol_specs.fuzzing.shrinking import shrunk
from protocol_specs.fuzzing.targets import RECORD_SET, Route, Target
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

METADATA = Target(route=Route.MESSAGE, cls=MetadataRequest, version=1)
TWO_TOPICS = MetadataRequest(topics=[MetadataRequestTopic(name="one"), MetadataRequestTopic(name="x")]).encode(1)


@pytest.fixture(autouse=True)
def _measuring() -> Iterator[None]:
    with measuring():
        yield


def no_time() -> float:
    return 0.0


def plant(monkeypatch: pytest.MonkeyPatch, bug: Callable[[bytes], None]) -> None:
    """Let the decoder of METADATA do something more before it decodes."""
    MetadataRequest.decode(1, TWO_TOPICS)
    sound = MetadataRequest._DECODERS[1]

    def decode(data: Any, position: int) -> Any:
        bug(bytes(data))
        return sound(data, position)

    monkeypatch.setitem(MetadataRequest._DECODERS, 1, decode)


def fault_of(data: bytes, clock: Callable[[], float] = no_time) -> Fault | None:
    return check(METADATA, data, clock).fault


def test_sound_and_refused_bytes_break_no_rule() -> None:
    verdict = check(METADATA, TWO_TOPICS, no_time)
    assert (verdict.outcome, verdict.written, verdict.fault) == ("read", True, None)
    refused = check(METADATA, TWO_TOPICS[:-1], no_time)
    assert (refused.outcome, refused.written, refused.fault) == ("MessageDecodeError", False, None)
    assert check(RECORD_SET, b"\0" * 40, no_time).outcome == "CorruptRecordBatch"


@pytest.mark.parametrize("error", [IndexError("x"), RecursionError("deep"), MemoryError(), struct.error("bad")])
def test_a_foreign_exception_is_a_crash(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def bug(data: bytes) -> None:
        raise error

    plant(monkeypatch, bug)
    assert fault_of(TWO_TOPICS) is Fault.CRASH


@pytest.mark.parametrize(
    ("path", "position", "fault"),
    [
        ("topics[0].name", 3, None),
        ("topics", 0, None),
        ("topics[0].name", 400, Fault.PLACE),
        ("topics[0].name", -1, Fault.PLACE),
        ("topics[0].nom", 3, Fault.PLACE),
        ("topics[0].topic_id", 3, Fault.PLACE),
        ("unknown_tags", 3, Fault.PLACE),
        ("", 3, Fault.UNLOCATED),
    ],
)
def test_an_error_names_a_byte_and_a_field_of_the_version(
    monkeypatch: pytest.MonkeyPatch, path: str, position: int, fault: Fault | None
) -> None:
    def bug(data: bytes) -> None:
        raise MessageDecodeError("MetadataRequest", 1, path, position, "planted")

    plant(monkeypatch, bug)
    assert fault_of(TWO_TOPICS) is fault


def test_believing_a_length_is_found_by_the_memory_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(data: bytes) -> None:
        bytes(min(10**7, int.from_bytes(data[:4], "big")))

    plant(monkeypatch, bug)
    assert fault_of(TWO_TOPICS) is None
    assert fault_of(b"\x00\x7f\xff\xff") is Fault.MEMORY
    assert memory_allowed(METADATA, 100) < 2**20 / 10


def test_slowness_counts_when_it_stays() -> None:
    ticks = itertools.count()
    assert fault_of(TWO_TOPICS, lambda: next(ticks) * 0.011) is Fault.SLOW
    once = itertools.chain([0.0, 0.5], itertools.repeat(1.0))
    assert fault_of(TWO_TOPICS, lambda: next(once)) is None
    assert check(METADATA, TWO_TOPICS + bytes(2048), lambda: next(ticks) * 0.011).fault is None


def test_what_is_read_is_written_and_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    MetadataRequest().encode(1)
    sound = MetadataRequest._ENCODERS[1]

    def without_the_last_topic(message: Any, parts: list[Any]) -> None:
        sound(MetadataRequest(topics=message.topics[:1]), parts)

    monkeypatch.setitem(MetadataRequest._ENCODERS, 1, without_the_last_topic)
    assert fault_of(TWO_TOPICS) is Fault.ROUND_TRIP

    def crash(message: Any, parts: list[Any]) -> None:
        raise KeyError("planted")

    monkeypatch.setitem(MetadataRequest._ENCODERS, 1, crash)
    assert fault_of(TWO_TOPICS) is Fault.WRITE_CRASH


def test_a_reader_of_record_sets_may_raise_its_own_errors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(data: Any) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(oracle, "RECORD_SET_READERS", (bug,))
    assert check(RECORD_SET, b"", no_time).fault is Fault.CRASH


def test_a_finding_shrinks_to_what_its_fault_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(data: bytes) -> None:
        if b"\x81" in data and data.count(7) >= 2:
            raise IndexError

    plant(monkeypatch, bug)
    data = b"\x07\x00\x01\x81" + bytes(300) + b"\x07\x07abc"
    frame = Frame(number=1, target=METADATA, data=data, mutations=())
    assert sorted(shrunk(Finding(frame=frame, fault=Fault.CRASH, detail=""), no_time)) == [7, 7, 0x81]


def test_a_frame_shrinks_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(data: bytes) -> None:
        if b"\x81" in data:
            raise IndexError

    plant(monkeypatch, bug)
    target = Target(route=Route.RESPONSE, cls=MetadataRequest, version=1)
    frame = Frame(number=1, target=target, data=framed(bytes(9) + b"\x81" + bytes(9)), mutations=())
    # A response begins with four bytes of correlation id: without them nothing is decoded.
    assert shrunk(Finding(frame=frame, fault=Fault.CRASH, detail=""), no_time) == framed(b"\x81\0\0\0")
