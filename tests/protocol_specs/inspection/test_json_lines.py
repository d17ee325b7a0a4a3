"""JSON lines to bytes and back: the Java vectors both ways, and what is refused in which words."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.inspection import json_lines
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.json_lines import decode_lines, encode_lines

VECTORS = gzip.decompress((Path(__file__).parents[2] / "data" / "message_vectors.jsonl.gz").read_bytes())
LINE = {"api": "Heartbeat", "kind": "request", "version": 4}
HEARTBEAT = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}


def file_of(*lines: object) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def encoded(**line: Any) -> dict[str, Any]:
    (line,) = encode_lines(file_of(line), "x")
    return dict(json.loads(line))


def decoded(**line: Any) -> dict[str, Any]:
    (line,) = decode_lines(file_of(line), "x")
    return dict(json.loads(line))


def refusal(lines: io.BytesIO, *, encode: bool = False) -> str:
    with pytest.raises(InputError) as error:
        list((encode_lines if encode else decode_lines)(lines, "lines.jsonl"))
    assert "\n" not in str(error.value)
    return str(error.value)


def without(key: str) -> tuple[io.BytesIO, list[dict[str, Any]]]:
    vectors = [json.loads(line) for line in VECTORS.splitlines()]
    dropped = [{name: value for name, value in vector.items() if name != key} for vector in vectors]
    if key == "json":
        for line in dropped:
            line.pop("unknown_tags", None)
    return file_of(*dropped), vectors


def test_every_vector_gets_its_json_from_its_hex() -> None:
    lines, vectors = without("json")
    assert [json.loads(line) for line in decode_lines(lines, "x")] == vectors


def test_every_vector_gets_its_hex_from_its_json() -> None:
    lines, vectors = without("hex")
    assert [json.loads(line) for line in encode_lines(lines, "x")] == vectors


def test_lines_that_hold_both_come_out_as_they_went_in() -> None:
    for turn in (decode_lines, encode_lines):
        assert [line.encode() for line in turn(io.BytesIO(VECTORS), "x")] == VECTORS.splitlines()


def test_other_keys_stay_in_order() -> None:
    line = encoded(note="a", **LINE, more=[1], json=HEARTBEAT)
    assert list(line) == ["note", "api", "kind", "version", "more", "json", "hex"]


def test_unknown_tags_inside_survive_the_round_trip() -> None:
    value = {"topics": [], "includeTopicAuthorizedOperations": False, "allowAutoTopicCreation": True}
    value["topics"] = [{"topicId": "A" * 22, "name": "a"}]
    line = {"api": "Metadata", "kind": "request", "version": 12, "json": value, "unknown_tags": [[7, "ff"]]}
    nested = {"topics[0]": [[9001, "0102"], [9002, ""]]}
    with_hex = encoded(**line, nested_unknown_tags=nested)
    again = decoded(**{key: with_hex[key] for key in ("api", "kind", "version", "hex")})
    assert again["nested_unknown_tags"] == nested
    assert again["unknown_tags"] == [[7, "ff"]]
    assert encoded(**again)["hex"] == with_hex["hex"]


def test_stale_tags_of_a_line_go_when_its_bytes_have_none() -> None:
    line = encoded(**LINE, json=HEARTBEAT)
    assert "unknown_tags" not in decoded(**line, unknown_tags=[[1, "00"]])


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_float64_that_is_no_number_is_text_as_jackson_writes_it(text: str) -> None:
    line = {"api": "ClientQuotaRecord", "kind": "metadata", "version": 0}
    value = {"entity": [], "key": "k", "value": text, "remove": False}
    assert decoded(**encoded(**line, json=value))["json"]["value"] == text


def test_text_outside_the_basic_plane_is_utf8_on_the_wire() -> None:
    line = encoded(**LINE, json={**HEARTBEAT, "groupId": "\U0001f600"})
    assert "f09f9880" in line["hex"]
    assert decoded(**line)["json"]["groupId"] == "\U0001f600"


def test_lines_are_written_before_the_next_is_read() -> None:
    lines = decode_lines(io.BytesIO(VECTORS.splitlines()[0] + b"\n{\n"), "x")
    assert json.loads(next(lines))["api"] == "Produce"
    with pytest.raises(InputError, match="line 2"):
        next(lines)


HEX_LINE = {**LINE, "hex": ""}

BAD_LINES = {
    "an unknown api": ({**HEX_LINE, "api": "Hartbeat"}, "no API 'Hartbeat': did you mean Heartbeat?"),
    "an unknown kind": ({**HEX_LINE, "kind": "question"}, "no kind 'question': the kinds are request, response"),
    "an unknown version": ({**HEX_LINE, "version": 99}, "HeartbeatRequest has no version 99: its versions are 0-4"),
    "a version that is no number": ({**HEX_LINE, "version": True}, "version: true is no whole number"),
    "no hex": (LINE, "no key 'hex': a line has api, kind, version and hex or json"),
    "half a byte": ({**HEX_LINE, "hex": "001"}, "hex: 3 hex digits, an odd number"),
    "no hex digit": ({**HEX_LINE, "hex": "00g0"}, "hex: 'g' is no hex digit (digit 3)"),
    "bytes left over": (
        {**LINE, "version": 0, "hex": "00016700000001000000ff00"},
        "HeartbeatRequest v0 ends at byte 9, and hex has 3 more: 00 ff 00",
    ),
    "bytes missing": ({**LINE, "hex": "0267"}, "HeartbeatRequest v4, generation_id, byte 2: 4 bytes needed"),
    "no object": ([1], "[1] is no JSON object"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_to_decode_is_named_with_its_number(case: str) -> None:
    line, words = BAD_LINES[case]
    good = encoded(**LINE, json=HEARTBEAT)
    assert refusal(file_of(good, line)).startswith(f"lines.jsonl, line 2: {words}")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{nonsense}\n", "no JSON: Expecting property name enclosed in double quotes, column 2"),
        (b'{"api": "\xff"}\n', "no UTF-8: byte 0xff at column 10"),
        (b"[" * 100_000, "no JSON: nested too deep"),
        (b'{"version": ' + b"1" * 5000 + b"}", "no JSON: Exceeds the limit"),
        (b"{}\n", "no key 'api'"),
        (b'{"api": "Fetch", "json": {"a": 1, "a": 2}}', 'no JSON: key "a" stands twice in an object'),
    ],
)
def test_what_is_no_json_is_named_with_its_column(raw: bytes, words: str) -> None:
    assert refusal(io.BytesIO(raw)).startswith(f"lines.jsonl, line 1: {words}")


def test_no_lines_at_all_are_refused() -> None:
    assert refusal(io.BytesIO(b"")) == "lines.jsonl: empty: expected one JSON object a line"


def test_a_line_longer_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LINE_BYTES_MAX", 10)
    assert "longer than LINE_BYTES_MAX=10" in refusal(io.BytesIO(VECTORS[:1000]))


BAD_VALUES = {
    "an unknown field": ({**HEARTBEAT, "groupID": ""}, "groupID: no such field: did you mean groupId? The fields are"),
    "a field of other versions": (
        {**HEARTBEAT, "groupInstanceId": None},
        "groupInstanceId: version 2 has no such field: versions 3+ have it",
    ),
    "a missing field": ({"groupId": "g", "memberId": "m"}, "generationId: missing: only a tagged field may be left"),
    "a number too large": (
        {**HEARTBEAT, "generationId": 2**31},
        "generationId: 2147483648 is no int32: a whole number from -2147483648 to 2147483647",
    ),
    "a fraction": ({**HEARTBEAT, "generationId": 1.0}, "generationId: 1.0 is no int32"),
    "a bool for a number": ({**HEARTBEAT, "generationId": True}, "generationId: true is no int32"),
    "null where none may be": ({**HEARTBEAT, "groupId": None}, "groupId: null, but this field is never null"),
    "a number for text": ({**HEARTBEAT, "groupId": 1}, "groupId: 1 is no text: a string"),
    "half a surrogate pair": ({**HEARTBEAT, "groupId": "\ud83d"}, "groupId: '\\ud83d' is not UTF-8"),
    "text too long": ({**HEARTBEAT, "groupId": "x" * 32768}, "groupId: 32768 bytes: a string has at most 32767"),
    "no object": ([], "HeartbeatRequest v"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_a_bad_value_to_encode_is_named_with_its_path(case: str) -> None:
    value, words = BAD_VALUES[case]
    version = 2 if "other versions" in case else 4
    error = refusal(file_of({**LINE, "version": version, "json": value}), encode=True)
    assert error.startswith(f"lines.jsonl, line 1: HeartbeatRequest v{version}"), error
    assert words in error


def test_values_deep_inside_are_named_with_their_path() -> None:
    topics = [{"name": "a", "partitions": [{"partitionIndex": 0, "currentLeaderEpoch": "x", "timestamp": 1}]}]
    value = {"replicaId": -1, "isolationLevel": 0, "topics": topics}
    line = {"api": "ListOffsets", "kind": "request", "version": 4, "json": value}
    assert 'topics[0].partitions[0].currentLeaderEpoch: "x" is no int32' in refusal(file_of(line), encode=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unknown_tags": 7}, "unknown_tags: 7 is no JSON array of [tag, hex]"),
        ({"unknown_tags": [[1]]}, "unknown_tags[0]: [1] is no [tag, hex]"),
        ({"unknown_tags": [[-1, ""]]}, "unknown_tags[0]: tag -1: expected 0 to 4294967295"),
        ({"unknown_tags": [[1, "0"]]}, "unknown_tags[0]: 1 hex digits, an odd number"),
        ({"unknown_tags": [[1, ""], [1, ""]]}, "a tag stands there twice"),
        ({"unknown_tags": [[1, ""]], "version": 3}, "HeartbeatRequest v3 carries no tags (versions with tags: 4)"),
        ({"nested_unknown_tags": {"topics": []}}, "json has no struct at 'topics'"),
    ],
)
def test_tags_that_cannot_be_are_refused(change: dict[str, Any], words: str) -> None:
    assert words in refusal(file_of({**LINE, "json": HEARTBEAT, **change}), encode=True)


@given(st.data())
def test_any_line_raises_only_our_error(data: st.DataObject) -> None:
    vectors = VECTORS.splitlines()
    line = json.loads(data.draw(st.sampled_from(vectors)))
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*line, *line["json"]]), inner),
        max_leaves=5,
    )
    for holder in (line, line["json"]):
        if holder and data.draw(st.booleans()):
            holder[data.draw(st.sampled_from(list(holder)))] = data.draw(values)
    for turn in (decode_lines, encode_lines):
        try:
            list(turn(file_of(line), "x"))
        except InputError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017 - either outcome is right
