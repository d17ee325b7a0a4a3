from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from protocol_specs import registry

if TYPE_CHECKING:
    from protocol_specs.message import Message

EVERY = [pytest.param(cls, id=cls.__name__) for cls in registry.every_message()]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["protocol", "diff", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocol", "diff", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


@pytest.mark.parametrize("cls", EVERY)
def test_every_message_has_a_history(capsys: pytest.CaptureFixture[str], cls: type[Message]) -> None:
    lines = printed(capsys, cls.__name__)
    steps = [line for line in lines if line.startswith(f"{cls.__name__} v")]
    assert len(steps) == max(1, len(cls.VERSIONS) - 1)


def test_a_difference_names_what_came_went_and_changed_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "Metadata", "8", "12") == [
        "Metadata (api key 3): list brokers, topics, partitions and their leaders.",
        "",
        "MetadataRequest v8 -> v12",
        "  ~  v9   (header)                               header 1 -> header 2",
        "  ~  v9   (encoding)                             not flexible -> flexible",
        "  +  v10  topics[].topic_id                      uuid",
        "  ~  v10  topics[].name                          not nullable -> nullable",
        "  -  v11  include_cluster_authorized_operations  bool",
        "",
        "MetadataResponse v8 -> v12",
        "  ~  v9   (header)                       header 0 -> header 1",
        "  ~  v9   (encoding)                     not flexible -> flexible",
        "  ~  v12  topics[].name                  not nullable -> nullable",
        "  +  v10  topics[].topic_id              uuid",
        "  -  v11  cluster_authorized_operations  int32",
    ]


def test_steps_go_version_by_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "Produce", "9", "11", "--steps", "--kind", "request")[2:] == [
        "ProduceRequest v9 -> v10: the same layout",
        "",
        "ProduceRequest v10 -> v11: the same layout",
        "",
        "beyond the layout",
        "  v11  may return TRANSACTION_ABORTABLE (KIP-890)",
    ]
    assert "ProduceRequest v12 -> v13" in printed(capsys, "Produce")
    assert "ProduceRequest v12 -> v13" in printed(capsys, "Produce", "12")
    assert "ProduceRequest v13 -> v12" in printed(capsys, "Produce", "13", "12")


def test_a_version_beside_itself_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "ProduceRequest", "9", "9")[2:] == ["ProduceRequest v9 -> v9: the same layout"]


def test_only_the_messages_that_have_both_versions_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "GroupMetadata", "0", "4")
    assert "GroupMetadataValue v0 -> v4" in lines
    assert not any(line.startswith("GroupMetadataKey") for line in lines)


def test_machines_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    (compared,) = json.loads("\n".join(printed(capsys, "Produce", "6", "7", "--json")))
    assert compared["notes"] == {"7": "records may be compressed with zstd (KIP-110)"}
    (step,) = json.loads("\n".join(printed(capsys, "Metadata", "11", "12", "--json")))
    assert (step["name"], step["from"], step["to"]) == ("Metadata", 11, 12)
    assert step["messages"][1]["changes"] == [
        {"change": "changed", "place": "topics[].name", "what": "not nullable -> nullable", "at": 12}
    ]


def test_what_is_not_there_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "Metdata", "8", "12") == "no API or schema 'Metdata': did you mean Metadata?"
    assert refused(capsys, "Metadata", "8", "14") == "Metadata has no version 14: its versions are 0-13"
    assert refused(capsys, "Metadata", "x") == "Metadata has no version 'x': its versions are 0-13"
