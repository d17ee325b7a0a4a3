from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from protocol_specs import lookup
from protocol_specs.api_key import ApiKey
from protocol_specs.layout import field_rows

if TYPE_CHECKING:
    from protocol_specs.lookup import Subject

SUBJECTS = [*map(lookup.api, ApiKey), *lookup.schemas()]
BY_NAME = [pytest.param(subject, id=subject.name + ("" if subject.api_key is None else " API")) for subject in SUBJECTS]
WIDTH_MAX = 100


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["protocol", "show", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "\x1b" in line] == []
    return lines


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocol", "show", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


@pytest.mark.parametrize("subject", BY_NAME)
def test_every_message_shows_every_field_and_its_first_and_last_version(
    capsys: pytest.CaptureFixture[str], subject: Subject
) -> None:
    for cls in subject.declarations:
        lines = printed(capsys, cls.__name__)
        assert [line for line in lines if len(line) > WIDTH_MAX] == []
        shown = [line.split()[:2] for line in lines]
        assert [row.place for row in field_rows(cls) if [row.name, row.type_name] not in shown] == []
        for version in dict.fromkeys((min(cls.VERSIONS), max(cls.VERSIONS))):
            lines = printed(capsys, cls.__name__, "--version", str(version))
            assert lines.index("") > 0
            assert any(line.startswith(f"{cls.__name__} v{version}, ") for line in lines)
            assert [line for line in lines if len(line) > WIDTH_MAX] == []


def test_a_message_is_a_tree_of_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "produce", "--kind", "request") == [
        "Produce (api key 0): append record batches to partitions.",
        "Mirrors ProduceRequest and ProduceResponse; KIP-98, KIP-467, KIP-951, KIP-516.",
        "",
        "versions        0-13, flexible from 9",
        "request header  1 before v0-8, 2 before v9-13",
        "in 4.3.1        broker 0-13",
        "",
        "ProduceRequest",
        "  field             type                    versions  notes",
        "  transactional_id  string                  3+        nullable, default null, entity transactionalId",
        "  acks              int16                   0+",
        "  timeout_ms        int32                   0+",
        "  topic_data        []TopicProduceData      0+",
        "    name            string                  0-12      ignorable, map key, entity topicName",
        "    topic_id        uuid                    13+       ignorable, map key",
        "    partition_data  []PartitionProduceData  0+",
        "      index         int32                   0+",
        "      records       records                 0+        nullable",
    ]


def test_a_version_is_shown_in_the_order_of_its_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "18", "--version", "3")[:22] == [
        "ApiVersions (api key 18): list the APIs, versions and features of a broker.",
        "",
        "ApiVersionsRequest v3, flexible, after request header 2",
        "  client_software_name     compact string",
        "  client_software_version  compact string",
        "  (tags)                   tag section",
        "",
        "ApiVersionsResponse v3, flexible, after response header 0",
        "  error_code                         int16",
        "  api_keys                           compact array of ApiVersion",
        "    api_key                          int16",
        "    min_version                      int16",
        "    max_version                      int16",
        "    (tags)                           tag section",
        "  throttle_time_ms                   int32",
        "  (tags)                             tag section",
        "    tag 0: supported_features        compact array of SupportedFeatureKey",
        "      name                           compact string",
        "      min_version                    int16",
        "      max_version                    int16",
        "      (tags)                         tag section",
        "    tag 1: finalized_features_epoch  int64",
    ]


def test_a_missing_header_field_or_listener_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    assert "GroupMetadataValue v0, not flexible, after int16 version 0" in printed(
        capsys, "GroupMetadata", "--version", "0"
    )
    assert "GroupMetadataKey" not in "".join(printed(capsys, "GroupMetadata", "--version", "4"))
    assert "LeaderChangeMessage v0, flexible" in printed(capsys, "LeaderChangeMessage", "--version", "0")
    assert "ListGroupsRequest v0, not flexible, after request header 1: no bytes" in printed(
        capsys, "ListGroups", "--version", "0"
    )
    assert "in 4.3.1         not listed by default" in printed(capsys, "PushTelemetry")
    assert printed(capsys, "Produce", "--version", "7")[1] == "v7: records may be compressed with zstd (KIP-110)."
    assert "once named       AlterIsr" in printed(capsys, "AlterIsr")
    assert "versions         0-6, flexible from 2, unstable 6" in printed(capsys, "InitProducerId")


def test_machines_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads("\n".join(printed(capsys, "Produce", "--json")))
    assert [message["name"] for message in shown["messages"]] == ["ProduceRequest", "ProduceResponse"]
    assert shown["messages"][0]["fields"][4] == {
        "path": "topic_data[].name",
        "type": "string",
        "versions": "0-12",
        "ignorable": True,
        "map_key": True,
        "entity": "topicName",
    }
    one = json.loads("\n".join(printed(capsys, "Produce", "--json", "--version", "9", "--kind", "response")))[
        "messages"
    ]
    assert (one[0]["version"], one[0]["flexible"], one[0]["header_version"]) == (9, True, 1)
    first = {
        "name": "responses",
        "depth": 0,
        "encoding": "compact array",
        "element": "TopicProduceResponse",
        "tag": None,
    }
    assert one[0]["layout"][0] == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Prodce"], "no API or schema 'Prodce': did you mean Produce?"),
        (["93"], "no API key 93: keys go from 0 to 92"),
        (["Produce", "--version", "14"], "Produce has no version 14: its versions are 0-13"),
        (["ProduceRequest", "--version", "x"], "ProduceRequest has no version 'x': its versions are 0-13"),
        (
            ["GroupMetadataValue", "--kind", "request"],
            "--kind request: GroupMetadataValue is no request, its kind is coordinator_value",
        ),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert refused(capsys, *arguments) == message
