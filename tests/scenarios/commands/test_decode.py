"""`broker-sim decode` and `encode`: what goes in, what comes out, and what is refused in one line with exit code 2."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from protocol_specs.framing import encode_request, encode_response
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "docs" / "how-to" / "captures" / "session.pcap"
VECTORS = ROOT / "tests" / "data" / "message_vectors.jsonl.gz"
REQUEST = encode_request(MetadataRequest(topics=None), 9, correlation_id=1, client_id="me")
RESPONSE = encode_response(MetadataResponse(cluster_id="x"), 9, correlation_id=1)


class Run:
    """A command's exit code and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main(arguments)
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    return lambda *arguments: Run(capsys, *map(str, arguments))


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def standard_input(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return standard_input


def test_the_vectors_pass_through_both_commands(run: Callable[..., Run], tmp_path: Path) -> None:
    lines = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]
    coded, valued = tmp_path / "hex.jsonl", tmp_path / "json.jsonl"
    with coded.open("w") as bare, valued.open("w") as plain:
        for line in lines:
            json.dump({key: line[key] for key in ("api", "kind", "version", "hex")}, bare)
            json.dump(
                {key: line[key] for key in ("api", "kind", "version", "json", "unknown_tags") if key in line}, plain
            )
            bare.write("\n")
            plain.write("\n")
    decoded, encoded = run("decode", "--jsonl", coded), run("encode", valued)
    assert (decoded.code, decoded.err, encoded.code, encoded.err) == (0, "", 0, "")
    for line, with_json, with_hex in zip(lines, decoded.out.splitlines(), encoded.out.splitlines(), strict=True):
        made = json.loads(with_json)
        assert (made["json"], made.get("unknown_tags")) == (line["json"], line.get("unknown_tags"))
        assert json.loads(with_hex)["hex"] == line["hex"]


@pytest.mark.parametrize("command", ["decode", "encode"])
def test_json_lines_come_from_stdin_when_no_file_is_named(
    command: str, run: Callable[..., Run], type_in: Callable[[bytes], None]
) -> None:
    line = b'{"api":"Heartbeat","kind":"response","version":0,"json":{"errorCode":1},"hex":"0001"}\n'
    type_in(line)
    assert run(command, "--jsonl").out.encode() == line
    type_in(line)
    assert run(command, "--jsonl", "-").out.encode() == line


def test_a_bad_line_comes_after_the_good_ones_before_it(run: Callable[..., Run], tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"api":"Heartbeat","kind":"response","version":0,"hex":"0001"}\n{"api":"Heartbat"}\n')
    result = run("decode", "--jsonl", lines)
    assert (result.code, result.out.count("\n")) == (2, 1)
    assert result.err == f"{lines}, line 2: no key 'kind': a line has api, kind, version and hex or json\n"


def test_hex_is_decoded_from_arguments_stdin_and_files(
    run: Callable[..., Run], type_in: Callable[[bytes], None], tmp_path: Path
) -> None:
    file, raw = tmp_path / "frame.hex", tmp_path / "frame.bin"
    file.write_text(REQUEST.hex(" ", 4) + "\n")
    raw.write_bytes(REQUEST)
    shown = run("decode", REQUEST.hex())
    assert shown.code == 0
    assert shown.out.startswith("frame 1 at byte 0: Metadata v9 request, correlation id 1, client id 'me', 22 bytes\n")
    type_in(REQUEST)
    others = [
        run("decode", *REQUEST.hex(" ").split()),
        run("decode", file),
        run("decode", raw),
        run("decode", "-"),
        run("decode", "--format", "frames", raw),
    ]
    assert [other.out for other in others] == [shown.out] * len(others)


def test_a_message_alone_is_named_by_api_kind_and_version(run: Callable[..., Run], tmp_path: Path) -> None:
    body = RESPONSE[9:]
    file = tmp_path / "body.bin"
    file.write_bytes(body)
    named = ("--api", "Metadata", "--kind", "response", "--version", "9")
    shown = run("decode", body.hex(), *named)
    assert shown.out.startswith(f"Metadata v9 response, {len(body)} bytes\n")
    assert run("decode", file, *named).out == shown.out
    assert run("decode", RESPONSE.hex(), *named).out.startswith("frame 1 at byte 0: Metadata v9 response")
    key = ("--api", "GroupMetadataKey", "--kind", "coordinator_key", "--version", "0")
    assert run("decode", "--format", "message", "000167", *key).code == 0


def test_a_capture_is_a_tree_a_line_or_an_object_a_frame(run: Callable[..., Run]) -> None:
    tree, brief, objects = run("decode", CAPTURE), run("decode", CAPTURE, "--brief"), run("decode", CAPTURE, "--json")
    assert (tree.code, brief.code, objects.code) == (0, 0, 0)
    frames = [json.loads(line) for line in objects.out.splitlines()]
    titles = [line for line in tree.out.splitlines() if line.startswith("frame ")]
    assert titles == brief.out.splitlines()
    assert len(titles) == len(frames)
    assert [frame["number"] for frame in frames] == list(range(1, len(frames) + 1))
    only = run("decode", CAPTURE, "--json", "--kind", "response")
    assert {json.loads(line)["kind"] for line in only.out.splitlines()} == {"response"}


def test_one_frame_can_be_shown_alone(run: Callable[..., Run]) -> None:
    tree = run("decode", CAPTURE).out
    for number in (1, 12):
        alone = run("decode", CAPTURE, "--frame", number).out
        assert alone.startswith(f"frame {number} ")
        assert alone in tree
    assert run("decode", (REQUEST + RESPONSE).hex(), "--frame", 2).out.startswith(
        "frame 2 at byte 22: Metadata v9 resp"
    )


def test_the_objects_of_a_capture_are_lines_that_encode_takes(
    run: Callable[..., Run], type_in: Callable[[bytes], None]
) -> None:
    objects = run("decode", CAPTURE, "--json").out
    type_in(objects.encode())
    assert run("encode", "--jsonl").out == objects


def test_the_capture_may_come_through_a_pipe(run: Callable[..., Run], type_in: Callable[[bytes], None]) -> None:
    type_in(CAPTURE.read_bytes())
    assert run("decode", "-", "--brief").out == run("decode", CAPTURE, "--brief").out


def test_a_broken_frame_is_shown_and_ends_with_1(run: Callable[..., Run]) -> None:
    shown = run("decode", "--brief", REQUEST[:-1].hex())
    assert (shown.code, shown.err) == (1, "")
    assert "the rule: a frame has as many bytes as its size field" in shown.out


FRAME = REQUEST.hex()
REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "nothing": ([], "decode: nothing to decode: name a file, - for stdin, or give hex digits"),
    "an odd number of digits": (["00000"], "HEX: 5 hex digits, an odd number: half a byte is missing after '00000'"),
    "a digit that is none": (["00", "0g"], "HEX: 'g' is no hex digit (digit 4)"),
    "neither hex nor a name": (["00g0"], "00g0: no such file, and no hex: 'g' is no hex digit (digit 3)"),
    "a missing file": (["nosuch.pcap"], "nosuch.pcap: no such file"),
    "a file with a slip": (["frane.bin"], "frane.bin: no such file: did you mean frame.bin?"),
    "a directory": (["."], ".: is a directory: name a file in it"),
    "an empty file": (["empty"], "empty: empty: expected pcap or pcapng, hex digits, frames"),
    "text": (["text"], "text: no capture, no hex and no frames (it begins with 'hello'): expected pcap"),
    "json lines": (["lines"], "lines: this may be JSON lines: give --jsonl"),
    "another binary": (["image"], "image: no capture, no hex and no frames (it begins with 89 50 4e 47): expected"),
    "no capture": (["frame.bin", "--format", "capture"], "frame.bin, byte 0: no capture begins with 00000012, but"),
    "half a capture": (["half.pcap"], "half.pcap, byte "),
    "an unknown api": ([FRAME, "--api", "Metdata", "--version", "9"], "no API 'Metdata': did you mean Metadata?"),
    "an unknown version": (
        [FRAME, "--api", "Metadata", "--version", "99"],
        "MetadataResponse has no version 99: its versions are 0-13",
    ),
    "a version that is no number": (
        [FRAME, "--api", "Metadata", "--version", "nine"],
        "--version: 'nine': expected a whole number from 0 to 32767",
    ),
    "an unknown kind": ([FRAME, "--kind", "reply"], "no kind 'reply': the kinds are request, response, header"),
    "an unknown format": ([FRAME, "--format", "pcap"], "--format: no format 'pcap': the formats are auto, capture"),
    "a port that is none": (["half.pcap", "--port", "x"], "--port: 'x': expected a whole number from 0 to 65535"),
    "a response of nothing": (
        [RESPONSE.hex(), "--kind", "response"],
        "HEX: a response has neither API nor version in it: give --api and --version",
    ),
    "a message of nothing": (
        ["0000", "--format", "message"],
        "HEX: a message alone does not name its API: give --api, --kind and --version",
    ),
    "frames of a kind that is none": ([FRAME, "--kind", "metadata"], "HEX: --kind metadata is of a message alone"),
    "a frame that is none": (["half.pcap", "--frame", "first"], "--frame: 'first': expected a whole number from 0"),
    "two files of lines": (["--jsonl", "a", "b"], "b: one file of JSON lines at a time"),
    "lines that are missing": (["--jsonl", "nosuch.jsonl"], "nosuch.jsonl: no such file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_line_and_exit_code_2(
    case: str, run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in {
        "frame.bin": REQUEST,
        "empty": b"",
        "lines": b'{"api": "Fetch"}\n',
        "text": b"hello\nthere\n",
        "image": b"\x89PNG",
        "half.pcap": CAPTURE.read_bytes()[:1000],
    }.items():
        (tmp_path / name).write_bytes(data)
    arguments, words = REFUSED[case]
    result = run("decode", *arguments)
    assert result.code == 2
    assert result.err.startswith(words), result.err
    assert result.err.count("\n") == 1
