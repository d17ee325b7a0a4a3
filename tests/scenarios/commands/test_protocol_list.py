from __future__ import annotations

import json
from typing import TYPE_CHECKING

from broker_scenarios.cli import main

if TYPE_CHECKING:
    import pytest

WIDTH_MAX = 100


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["protocol", "list", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    assert "--json" in arguments or [line for line in lines if len(line) > WIDTH_MAX] == []
    return lines


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocol", "list", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


def test_every_api_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert lines[:4] == [
        "key  name                          versions  flex  broker  ctrl  served  notes",
        "  0  Produce                       0-13      9+    0-13    -     B",
        "  1  Fetch                         0-18      12+   4-18    4-18  BC",
        "  2  ListOffsets                   0-11      6+    1-11    -     B       once ListOffset",
    ]
    assert [int(line[:3]) for line in lines[1:-3] if line[:3].strip()] == list(range(93))
    assert lines[5].split()[-3:] == ["B", "until", "3.9.2"]
    assert lines[9].split() == ["8", "OffsetCommit", "0-10", "8+", "2-10", "-", "B"]
    assert lines[23].endswith("v6 unstable")


def test_the_schemas_are_listed_by_the_log_that_holds_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--schemas")
    assert "records of __consumer_offsets" in lines
    assert any(line.split()[:6] == ["2", "GroupMetadata", "key", "0,", "value", "0-4"] for line in lines)
    assert any(line.split()[:2] == ["EndTxnMarker", "0"] for line in lines)


def test_a_release_lists_the_apis_of_its_listeners(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--release", "3.7")
    assert lines[0] == "Kafka 3.7.2, KRaft mode, as its broker responded"
    assert lines[2:5] == [
        "key  name                          broker  controller",
        "  0  Produce                       0-10    -",
        "  1  Fetch                         0-16    0-16",
    ]
    assert (
        printed(capsys, "--release", "3.7", "--mode", "zk")[0] == "Kafka 3.7.2, ZooKeeper mode, as its broker responded"
    )
    assert "from its sources" in printed(capsys, "--release", "0.8.0")[0]


def test_machines_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    apis = json.loads("\n".join(printed(capsys, "--json")))
    assert [api["api_key"] for api in apis] == list(range(93))
    assert apis[1]["listed"] == {"broker": [4, 18], "controller": [4, 18]}
    assert [api["served"] for api in apis[:2]] == [["broker"], ["broker", "controller"]]
    assert apis[74]["earlier_names"] == ["ListClientMetricsResources"]
    assert len(json.loads("\n".join(printed(capsys, "--json", "--release", "0.8.0")))) == 8
    schemas = json.loads("\n".join(printed(capsys, "--json", "--schemas")))
    assert {"name": "GroupMetadataValue", "kind": "coordinator_value", "record_type": 2} in [
        {name: schema[name] for name in ("name", "kind", "record_type")} for schema in schemas
    ]


def test_a_release_or_a_mode_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "--release", "3.7.1") == (
        "no broker release '3.7.1' is known; did you mean 3.7.2? (known: 34 from 0.8.0 to 4.3.1)"
    )
    assert refused(capsys, "--release", "4.3", "--mode", "zk").startswith("no broker release '4.3 in zk mode' is known")
    assert refused(capsys, "--mode", "zk").endswith("give --release RELEASE too")
