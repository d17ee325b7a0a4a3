"""The neutral form of a history: written and read again; malformed lines are refused by file, line and key."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import EventType
from broker_scenarios.operations import (
    Assign,
    Commit,
    Function,
    Op,
    Poll,
    PolledOffsets,
    Seek,
    Send,
    Subscribe,
    numbered_operations,
    op_from_json,
    op_to_json,
    read_operations,
    split_key,
    write_operations,
)

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.operations import Mop


def op(event: EventType, function: Function, *mops: Mop, **fields: Any) -> Op:
    return Op(index=3, process=1, type=event, f=function, time_ms=12.5, mops=list(mops), **fields)


EVERY_FORM = [
    op(EventType.INVOKE, Function.SEND, Send("orders-0", 1)),
    op(EventType.OK, Function.SEND, Send("orders-0", 1, 7), Send("orders-1", "two")),
    op(EventType.INVOKE, Function.TXN, Send("orders-0", 1), Poll()),
    op(EventType.FAIL, Function.TXN, Send("orders-0", 1), Poll({"a-b-0": [(0, 1), (2, "x")], "a-b-1": []}), error="F"),
    op(EventType.OK, Function.POLL, Poll({}), final=True, assigned=("orders-0",), rebalanced=("orders-1",)),
    op(EventType.OK, Function.POLL, Poll({}), offsets={"orders-0": PolledOffsets(4, 9)}, group="g"),
    op(EventType.OK, Function.ASSIGN, Assign(("orders-0",)), Seek({"orders-0": "beginning", "orders-1": 4})),
    op(EventType.OK, Function.SUBSCRIBE, Subscribe(("orders", "payments"))),
    op(EventType.INFO, Function.COMMIT, Commit({"orders-0": 4}), auto=True),
    *(op(EventType.OK, each) for each in (Function.FLUSH, Function.CLOSE, Function.CRASH)),
]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    write_operations(path, EVERY_FORM)
    assert list(read_operations(path)) == EVERY_FORM


def test_the_form_is_that_of_the_specification() -> None:
    assert op_to_json(EVERY_FORM[1]) == {
        "i": 3, "process": 1, "type": "ok", "f": "send", "t_ms": 12.5,
        "mops": [["send", "orders-0", [7, 1]], ["send", "orders-1", "two"]],
    }  # fmt: skip
    assert op_to_json(EVERY_FORM[5])["offsets"] == {"orders-0": {"lso": 4, "hw": 9}}


GOOD = {"i": 0, "process": 1, "type": "ok", "f": "poll", "mops": [["poll", {"orders-0": [[0, 1]]}]], "t_ms": 1}
DELETE = object()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        *(({name: DELETE}, name) for name in GOOD),
        ({"colour": "red"}, "colour"),
        ({"i": "0"}, "i"),
        ({"i": True}, "i"),
        ({"process": None}, "process"),
        ({"t_ms": "now"}, "t_ms"),
        ({"t_ms": float("nan")}, "t_ms"),
        ({"t_ms": 10**400}, "t_ms"),
        ({"t_ms": 2**63}, "t_ms"),
        ({"t_ms": -(2**63)}, "t_ms"),
        ({"type": "maybe"}, "type"),
        ({"type": ["ok"]}, "type"),
        ({"f": "read"}, "f"),
        ({"f": {}}, "f"),
        ({"f": "flush"}, "mops"),
        ({"mops": {}}, "mops"),
        ({"mops": [[]]}, "mops"),
        ({"mops": ["poll"]}, "mops"),
        ({"mops": [["push", 1]]}, "mops"),
        ({"mops": [["send", "orders-0", 1]]}, "mops"),
        ({"mops": [["poll", []]]}, "mops"),
        ({"mops": [["poll", {"orders": []}]]}, "mops"),
        ({"mops": [["poll", {"orders-x": []}]]}, "mops"),
        ({"mops": [["poll", {"orders-0": 1}]]}, "mops"),
        ({"mops": [["poll", {"orders-0": [1]}]]}, "mops"),
        ({"mops": [["poll", {"orders-0": [[-1, 1]]}]]}, "mops"),
        ({"mops": [["poll", {"orders-0": [[0, None]]}]]}, "mops"),
        ({"mops": [["poll", {"orders-0": [[0, 1.5]]}]]}, "mops"),
        ({"type": "invoke"}, "mops"),
        ({"f": "send", "mops": [["send", "orders-0"]]}, "mops"),
        ({"f": "send", "mops": [["send", "orders-0", [1]]]}, "mops"),
        ({"f": "send", "mops": [["send", "orders-0", [-2, 1]]]}, "mops"),
        ({"f": "send", "mops": [["send", 0, 1]]}, "mops"),
        ({"f": "send", "type": "invoke", "mops": [["send", "orders-0", [1, 1]]]}, "mops"),
        ({"f": "assign", "mops": [["assign"]]}, "mops"),
        ({"f": "assign", "mops": [["seek", {"orders-0": "somewhere"}]]}, "mops"),
        ({"f": "subscribe", "mops": [["subscribe", [1]]]}, "mops"),
        ({"f": "commit", "mops": [["commit", {"orders-0": "1"}]]}, "mops"),
        ({"group": 7}, "group"),
        ({"rebalanced": "orders-0"}, "rebalanced"),
        ({"assigned": [7]}, "assigned"),
        ({"final": 1}, "final"),
        ({"auto": "yes"}, "auto"),
        ({"offsets": {"orders-0": 7}}, "offsets"),
        ({"offsets": {"orders-0": {"lso": 7}}}, "offsets"),
    ],
)  # fmt: skip
def test_a_malformed_operation_is_refused_by_file_line_and_key(
    tmp_path: Path, change: dict[str, Any], key: str
) -> None:
    wrong = {name: value for name, value in {**GOOD, **change}.items() if value is not DELETE}
    path = tmp_path / "history.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(wrong)}\n")
    with pytest.raises(HistoryError, match=rf"history\.jsonl:3: '{key}': "):
        list(read_operations(path))


@pytest.mark.parametrize("line", ["{", "[1]", "null", '"ok"', "1" * 5000, "[" * 100_000])
def test_a_line_without_an_object_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(line)
    with pytest.raises(HistoryError, match=r"history\.jsonl:1: "):
        list(read_operations(path))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"absent\.jsonl"):
        list(read_operations(tmp_path / "absent.jsonl"))
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(HistoryError, match=r"binary\.jsonl"):
        list(read_operations(tmp_path / "binary.jsonl"))


def test_flush_close_and_crash_have_no_micro_operations(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines = [
        {name: value for name, value in {**GOOD, "f": f}.items() if name != "mops"} for f in ("flush", "close", "crash")
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert [op.mops for op in read_operations(path)] == [[], [], []]


def test_a_key_is_a_topic_and_a_partition() -> None:
    assert split_key("a-b-12") == ("a-b", 12)
    for wrong in ("orders", "-1", "orders-", "orders-x", "orders-\N{SUPERSCRIPT TWO}", "orders-+1"):
        with pytest.raises(ValueError, match="is not a partition"):
            split_key(wrong)


def test_an_operation_with_every_key_is_read() -> None:
    beside = {"error": "e", "group": "g", "rebalanced": ["orders-1"], "final": True, "assigned": ["orders-0"]}
    op = op_from_json({**GOOD, **beside, "auto": False, "offsets": {"orders-0": {"lso": 1, "hw": 2}}}, "here")
    assert (op.error, op.group, op.rebalanced, op.final, op.assigned) == ("e", "g", ("orders-1",), True, ("orders-0",))
    with pytest.raises(HistoryError, match="here: 'colour': unknown key"):
        op_from_json({**GOOD, **beside, "colour": "red"}, "here")


def test_null_is_as_a_missing_key_and_an_error_may_have_any_form() -> None:
    optional = ("error", "group", "rebalanced", "final", "assigned", "auto", "offsets")
    assert op_from_json({**GOOD, **dict.fromkeys(optional)}, "here") == op_from_json(GOOD, "here")
    assert op_from_json({**GOOD, "error": ["indefinite", {"code": 7}]}, "here").error == '["indefinite", {"code": 7}]'


def test_a_file_may_be_compressed_and_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    write_operations(path, EVERY_FORM)
    marked = b"\xef\xbb\xbf" + path.read_bytes()
    path.write_bytes(marked)
    assert list(read_operations(path)) == EVERY_FORM
    compressed = tmp_path / "history.jsonl.gz"
    compressed.write_bytes(gzip.compress(marked))
    assert list(read_operations(compressed)) == EVERY_FORM
    compressed.write_bytes(gzip.compress(marked)[:-12])
    with pytest.raises(HistoryError, match=r"cannot read the history .*history"):
        list(read_operations(compressed))


def test_a_file_that_is_no_text_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    line = json.dumps({**GOOD, "error": "f\xfcr"}, ensure_ascii=False)
    path.write_bytes(f"{line}\n".encode() + f"{line}\n".encode("latin-1"))
    with pytest.raises(HistoryError, match=r"history\.jsonl:2: not UTF-8: byte 0xfc \(column "):
        list(read_operations(path))
    path.write_bytes(gzip.compress(line.encode()))
    with pytest.raises(HistoryError, match=r"history\.jsonl: it is compressed: its name must end with \.gz"):
        list(read_operations(path))
    path.write_text(f"{line}\n{line[:30]}\n")
    with pytest.raises(HistoryError, match=r"history\.jsonl:2: not JSON: (Unterminated|Expecting)"):
        list(read_operations(path))


def test_a_place_of_an_operation_is_its_line_or_its_number(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    write_operations(path, EVERY_FORM[:2])
    assert [where for where, _ in numbered_operations(path)] == [f"{path}:1", f"{path}:2"]
    assert [where for where, _ in numbered_operations(EVERY_FORM[1:2])] == [f"i={EVERY_FORM[1].index}"]


def test_a_wrong_value_is_shown_in_at_most_sixty_characters() -> None:
    for length, shown in ((58, json.dumps("v" * 58)), (59, json.dumps("v" * 59)[:57] + "...")):
        with pytest.raises(HistoryError) as raised:
            op_from_json({**GOOD, "type": "v" * length}, "here")
        assert str(raised.value).endswith(f", not {shown}")


@pytest.mark.parametrize(
    ("change", "hint"), [({"f": "sned"}, "send"), ({"type": "invok"}, "invoke"), ({"time_ms": 1}, "t_ms")]
)
def test_a_misspelt_word_names_the_nearest(change: dict[str, Any], hint: str) -> None:
    with pytest.raises(HistoryError, match=f"; did you mean '{hint}'"):
        op_from_json({**GOOD, **change}, "here")
