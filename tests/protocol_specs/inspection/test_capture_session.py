"""Captures to frames: formats, link types, segments in every order, gaps, the broker's end, and matched responses."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.framing import encode_request, encode_response
from protocol_specs.inspection import capture_session, conversation, kafka_connection
from protocol_specs.inspection.capture_file import read_packets
from protocol_specs.inspection.capture_session import CapturedFrame, CaptureNote, CaptureSession
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.tcp_segment import RST
from protocol_specs.messages.metadata import MetadataResponse
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.protocol_specs.inspection.captures import (
    BROKER,
    CLIENT,
    LINKS,
    Dialogue,
    metadata_request,
    metadata_response,
    pcap,
    pcapng,
    produced,
    refused_versions,
    session,
    tcp_packet,
    versions_request,
)

REAL_SESSION = Path(__file__).parents[3] / "docs" / "how-to" / "captures" / "session.pcap"
DESCRIBED = ["Metadata request 1", "Metadata response 1 to 1", "Metadata request 2", "Metadata response 2 to 3"]


def described(data: bytes, *, port: int | None = None) -> list[str]:
    """The events in short: frames as `api kind correlation-id to request`, `!` for a broken one."""
    return described_events(CaptureSession("c.pcap", port=port), data)


def described_events(reader: CaptureSession, data: bytes) -> list[str]:
    words = []
    for event in reader.events(read_packets(io.BytesIO(data), "c.pcap")):
        if isinstance(event, CaptureNote):
            words.append(f"-- {event.text}")
            continue
        (correlation_id,) = struct.unpack_from(">i", event.frame.data, 8 if event.frame.kind.value == "request" else 4)
        to_request = f" to {event.request.number}" if event.request else ""
        broken = " !" if event.frame.faults else ""
        words.append(f"{event.frame.api} {event.frame.kind.value} {correlation_id}{to_request}{broken}")
    return words


def refusal(data: bytes, **options: int) -> str:
    with pytest.raises(InputError) as error:
        described(data, **options)
    return str(error.value)


@pytest.mark.parametrize("link", LINKS)
def test_every_link_type_carries_the_same_frames(link: str) -> None:
    assert described(pcap(session().packets, link=link)) == DESCRIBED


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_classic_captures_of_both_byte_orders_and_clocks_are_read(order: str, nanoseconds: bool) -> None:
    data = pcap(session().packets, order=order, nanoseconds=nanoseconds)
    events = list(CaptureSession("x").events(read_packets(io.BytesIO(data), "x")))
    frames = [event for event in events if isinstance(event, CapturedFrame)]
    assert frames[0].time_ns == 1_003_000_000
    assert [str(frames[1].source), str(frames[1].destination)] == ["10.0.0.2:9092", "10.0.0.1:50000"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_is_read_in_both_byte_orders(order: str) -> None:
    data = pcapng(session().packets, order=order)
    assert described(data) == DESCRIBED
    first = next(iter(CaptureSession("x").events(read_packets(io.BytesIO(data), "x"))))
    assert isinstance(first, CapturedFrame)
    assert first.time_ns == 1_003_000_000


def test_simple_packet_blocks_have_no_time() -> None:
    assert described(pcapng(session().packets, simple=True)) == DESCRIBED


def test_ipv6_is_read() -> None:
    dialogue = Dialogue(client=("fe80::1", 40000), broker=("fe80::2", 9092))
    dialogue.request(metadata_request(1))
    dialogue.respond(metadata_response(1))
    (first, _) = CaptureSession("x").events(read_packets(io.BytesIO(pcap(dialogue.packets)), "x"))
    assert isinstance(first, CapturedFrame)
    assert str(first.source) == "[fe80::1]:40000"


def test_a_real_session_is_read_to_its_end() -> None:
    events = list(CaptureSession("x").events(read_packets(io.BytesIO(REAL_SESSION.read_bytes()), "x")))
    frames = [event for event in events if isinstance(event, CapturedFrame)]
    assert [frame.frame.faults + frame.frame.remarks for frame in frames if frame.frame.faults] == []
    assert {frame.frame.api for frame in frames} >= {"ApiVersions", "Metadata", "InitProducerId", "Produce", "Fetch"}
    responses = [frame for frame in frames if frame.frame.kind and frame.frame.kind.value == "response"]
    assert all(frame.request is not None for frame in responses)


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_segments_out_of_order_and_sent_again_give_the_same_frames(random: object, size: int) -> None:
    dialogue = Dialogue(broker=("10.0.0.2", 7000))
    dialogue.open()
    start = len(dialogue.packets)
    for correlation_id in range(3):
        dialogue.request(metadata_request(correlation_id), size=size)
    packets = dialogue.packets[start:] + dialogue.packets[start::2]
    random.shuffle(packets)  # type: ignore[attr-defined]
    assert described(pcap(dialogue.packets[:start] + packets)) == [f"Metadata request {number}" for number in range(3)]


def test_a_segment_sent_again_with_more_bytes_is_trimmed() -> None:
    frame = metadata_request(1)
    packets = [
        tcp_packet(CLIENT, BROKER, 100, frame[:10]),
        tcp_packet(CLIENT, BROKER, 100, frame[:20]),
        tcp_packet(CLIENT, BROKER, 105, frame[5:]),
    ]
    assert described(pcap(packets)) == ["Metadata request 1"]


def test_sequence_numbers_wrap() -> None:
    frame = metadata_request(1)
    packets = [
        tcp_packet(CLIENT, BROKER, 2**32 - 4, frame[:10]),
        tcp_packet(CLIENT, BROKER, 16, frame[20:]),
        tcp_packet(CLIENT, BROKER, 6, frame[10:20]),
    ]
    assert described(pcap(packets)) == ["Metadata request 1"]


def test_bytes_that_the_capture_lost_are_a_gap_as_soon_as_they_are_acknowledged() -> None:
    dialogue = session()
    lost = next(i for i, packet in enumerate(dialogue.packets) if metadata_response(1)[:16] in packet)
    del dialogue.packets[lost]
    assert described(pcap(dialogue.packets)) == [
        "Metadata request 1",
        "-- connection 1, 10.0.0.2:9092 -> 10.0.0.1:50000: 16 bytes are missing or of a frame that is not whole",
        "Metadata request 2",
        "Metadata response 2 to 2",
    ]


def test_bytes_cut_by_the_snap_length_are_a_gap() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(metadata_request(1))
    kept = [*dialogue.packets[:3], dialogue.packets[3][:50]]
    dialogue.packets = []
    dialogue.request(metadata_request(2))
    notes = described(pcap(kept + dialogue.packets))
    assert notes[1:] == ["Metadata request 2"]
    assert "bytes are missing" in notes[0]


def test_a_capture_that_begins_in_the_middle_finds_the_next_frames() -> None:
    dialogue = Dialogue(broker=("10.0.0.2", 7777))
    dialogue.request(metadata_request(6)[20:] + metadata_request(7))
    dialogue.respond(metadata_response(6)[9:] + metadata_response(7))
    assert described(pcap(dialogue.packets)) == ["Metadata request 7", "Metadata response 7 to 1"]


def test_without_a_syn_the_side_whose_bytes_read_as_a_request_is_the_client() -> None:
    dialogue = Dialogue(client=("10.0.0.1", 7001), broker=("10.0.0.2", 7000))
    # This response looks like the head of a Produce v1 request, but not like a whole one.
    dialogue.respond(metadata_response(1))
    dialogue.request(metadata_request(2))
    dialogue.respond(metadata_response(2))
    assert described(pcap(dialogue.packets))[0] == "Metadata request 2"
    assert described(pcap(dialogue.packets))[-1] == "Metadata response 2 to 1"


def test_the_port_that_the_user_names_is_the_brokers() -> None:
    dialogue = Dialogue(client=("10.0.0.1", 9092), broker=("10.0.0.2", 7000))
    dialogue.request(metadata_request(1))
    dialogue.respond(metadata_response(1))
    assert described(pcap(dialogue.packets), port=7000) == DESCRIBED[:2]
    assert refusal(pcap(dialogue.packets), port=7007) == (
        "c.pcap: no Kafka frames in plain text: 1 connection: neither end is port 7007 (--port names the broker's port)"
    )


def test_a_produce_without_acks_waits_for_no_response() -> None:
    dialogue = Dialogue()
    dialogue.request(produced(1, 0) + produced(1, 1))
    dialogue.respond(metadata_response(9))
    reader = CaptureSession("x")
    events = list(reader.events(read_packets(io.BytesIO(pcap(dialogue.packets)), "x")))
    frames = [event for event in events if isinstance(event, CapturedFrame)]
    assert frames[0].frame.notes == ["acks 0: the broker sends no response"]
    assert frames[1].frame.notes == []


def test_tokens_after_sasl_handshake_0_are_no_requests() -> None:
    dialogue = Dialogue()
    dialogue.open()
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    dialogue.request(encode_request(handshake, 0, correlation_id=1, client_id="c"))
    dialogue.respond(encode_response(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, correlation_id=1))
    dialogue.request(b"\0\0\0\x0d\0alice\0secret")
    dialogue.respond(bytes(4))
    dialogue.request(metadata_request(2))
    dialogue.respond(metadata_response(2))
    events = list(CaptureSession("x").events(read_packets(io.BytesIO(pcap(dialogue.packets)), "x")))
    frames = [event.frame for event in events if isinstance(event, CapturedFrame)]
    assert [frame.api for frame in frames] == ["SaslHandshake", "SaslHandshake", "", "", "Metadata", "Metadata"]
    assert [frame.faults for frame in frames] == [[]] * 6
    assert frames[2].notes == frames[3].notes == ["a SASL token without header, as after SaslHandshake v0"]


def test_an_api_versions_response_with_error_35_is_of_version_0() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(versions_request(1, 4))
    dialogue.respond(refused_versions(1))
    events = CaptureSession("x").events(read_packets(io.BytesIO(pcap(dialogue.packets)), "x"))
    _, response = events
    assert isinstance(response, CapturedFrame)
    assert (response.frame.version, response.frame.faults) == (0, [])
    assert "version 4 was requested" in response.frame.notes[0]


def test_a_response_without_its_request_is_noted_and_can_be_forced() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.respond(metadata_response(9))
    dialogue.request(versions_request(1, 4))
    dialogue.respond(refused_versions(1))
    rest = ["ApiVersions request 1", "ApiVersions response 1 to 2"]
    assert described(pcap(dialogue.packets)) == [" response 9", *rest]
    forced = CaptureSession("x", forced=(MetadataResponse, 9))
    assert described_events(forced, pcap(dialogue.packets)) == ["Metadata response 9", *rest]


def test_responses_that_were_captured_before_their_request_wait_for_it() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(metadata_request(1), size=20)
    dialogue.respond(metadata_response(1))
    late = dialogue.packets.pop(3)
    # The response acknowledges nothing here: the capture has the first half of the request last.
    response = tcp_packet(BROKER, CLIENT, 2**32 - 4, metadata_response(1))
    dialogue.packets[-1:] = [response, late]
    assert described(pcap(dialogue.packets)) == ["Metadata request 1", "Metadata response 1 to 1"]


def test_a_second_connection_of_the_same_ports_is_another() -> None:
    first, second = session(), session()
    numbers = [
        event.connection
        for event in CaptureSession("x").events(read_packets(io.BytesIO(pcap(first.packets + second.packets)), "x"))
        if isinstance(event, CapturedFrame)
    ]
    assert numbers == [1] * 4 + [2] * 4


def test_connections_without_kafka_are_left_alone_and_counted() -> None:
    other = Dialogue(client=("10.0.0.9", 1), broker=("10.0.0.2", 443))
    other.open()
    other.request(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100))
    assert described(pcap(session().packets + other.packets)) == [
        *DESCRIBED,
        "-- 1 other connection left alone: it is TLS",
    ]
    assert refusal(pcap(other.packets)).startswith("c.pcap: no Kafka frames in plain text: 1 connection: it is TLS")


def test_a_broken_size_is_shown_and_the_next_request_found() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(metadata_request(1))
    dialogue.request(b"\xff\xff\xff\xff junk that is no frame")
    dialogue.request(metadata_request(2))
    assert described(pcap(dialogue.packets)) == ["Metadata request 1", " request 1797289064 !", "Metadata request 2"]


def test_a_reset_ends_a_connection_inside_of_a_frame() -> None:
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(metadata_request(1) + metadata_request(2)[:9])
    dialogue.packet(BROKER, flags=RST)
    end = "-- connection 1, 10.0.0.1:50000 -> 10.0.0.2:9092: it ends with 9 bytes of a frame that is not whole"
    assert described(pcap(dialogue.packets)) == ["Metadata request 1", end]


def test_what_all_connections_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_session, "BUFFERED_BYTES_MAX", 2000)
    dialogue = Dialogue()
    dialogue.open()
    dialogue.request(metadata_request(1))
    dialogue.request(struct.pack(">ihhih", 1_000_000, 0, 9, 1, -1) + bytes(5000))
    words = described(pcap(dialogue.packets))
    assert words[0] == "Metadata request 1"
    assert "bytes dropped, all connections held more than BUFFERED_BYTES_MAX=2000" in words[1]


def test_the_number_of_connections_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_session, "CONNECTIONS_MAX", 2)
    packets = [tcp_packet(("10.0.0.1", port), BROKER, 1, metadata_request(port)[:-1]) for port in range(5)]
    session_of_many = CaptureSession("x")
    with pytest.raises(InputError, match="5 connections: no whole frame"):
        list(session_of_many.events(read_packets(io.BytesIO(pcap(packets)), "x")))


def test_outstanding_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "OUTSTANDING_MAX", 2)
    dialogue = Dialogue()
    dialogue.request(metadata_request(1) + metadata_request(2) + metadata_request(3))
    dialogue.respond(metadata_response(1) + metadata_response(2))
    assert described(pcap(dialogue.packets))[-1] == "Metadata response 2 to 2"


def test_bytes_that_never_show_a_request_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_connection, "UNDECIDED_BYTES_MAX", 1000)
    dialogue = Dialogue(broker=("10.0.0.2", 1))
    dialogue.request(bytes(5000))
    assert "1 connection: no request in its first bytes" in refusal(pcap(dialogue.packets))


@pytest.mark.parametrize("pack", [pcap, pcapng])
def test_a_capture_that_ends_too_early_shows_its_frames_and_the_place(pack: object) -> None:
    data = pack(session().packets)  # type: ignore[operator]
    found: list[object] = []
    with pytest.raises(InputError, match=r"c.pcap, byte \d+: the file ends after \d+ whole packets inside of"):
        found.extend(CaptureSession("c.pcap").events(read_packets(io.BytesIO(data[:-3]), "c.pcap")))
    assert refusal(data[:30]).startswith("c.pcap, byte ")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "c.pcap, byte 0: the file ends inside of its magic: 4 bytes needed, 0 bytes left"),
        (b"GIF89a", "c.pcap, byte 0: no capture begins with 47494638, but with a1b2c3d4 or a1b23c4d (pcap"),
        (b"\x1f\x8b\x08\x00", "c.pcap, byte 0: no capture begins with 1f8b0800: it is gzip, unpack it first"),
        (pcap([]), "c.pcap: no TCP segments in this capture"),
        (pcap([b"\x45" + bytes(30)]), "c.pcap: no TCP segments in this capture"),
        (pcap([tcp_packet(CLIENT, BROKER, 1)]), "c.pcap: no Kafka frames: 1 TCP segment without a byte of payload"),
        (pcap([b""])[:20] + b"\x7f\0\0\0" + pcap([b""])[24:], "c.pcap: link type 127 is not read; these are: NULL (0)"),
        (pcap([b""])[:32] + b"\xff\xff\xff\x7f" + bytes(4), "c.pcap, byte 24: packet 1 of 2147483647 bytes, PACKET"),
        (pcapng([])[:8] + b"abcd", "c.pcap, byte 8: byte order 61626364: expected 1a2b3c4d or 4d3c2b1a"),
    ],
    ids=[
        "nothing",
        "a picture",
        "gzip",
        "no packets",
        "half a packet",
        "no payload",
        "another link type",
        "an unbelievable packet",
        "no byte order",
    ],
)
def test_what_cannot_be_a_capture_of_kafka_is_refused_in_one_line(data: bytes, words: str) -> None:
    assert refusal(data).startswith(words)


@pytest.mark.parametrize("pack", [pcap, pcapng])
@given(data=st.data())
def test_mutated_captures_raise_our_error_alone(pack: object, data: st.DataObject) -> None:
    whole = bytearray(pack(session().packets))  # type: ignore[operator]
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    reader = CaptureSession("x")
    try:
        for event in reader.events(read_packets(io.BytesIO(bytes(whole[:cut])), "x")):
            assert isinstance(event, CapturedFrame | CaptureNote)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
