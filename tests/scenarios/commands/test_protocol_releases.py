from __future__ import annotations

import json

import pytest

from broker_scenarios.cli import main
from protocol_specs import releases
from protocol_specs.api_key import ApiKey

WIDTH_MAX = 100


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["protocol", "releases", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    assert "--json" in arguments or [line for line in lines if len(line) > WIDTH_MAX] == []
    return lines


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocol", "releases", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


def test_every_release_has_a_line_in_each_mode(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert lines[0] == "release   mode   source    broker   controller  ApiVersions  metadata.version"
    assert "0.8.0     zk     sources   8 APIs   -           -            -" in lines
    assert "3.7.2     kraft  observed  57 APIs  39 APIs     0-3          19 (3.7-IV4)" in lines
    assert [line.split()[0] for line in lines[1:]] == [name for name in releases.names() for _ in releases.modes(name)]


@pytest.mark.parametrize("key", ApiKey)
def test_every_api_goes_through_every_release(capsys: pytest.CaptureFixture[str], key: int) -> None:
    lines = printed(capsys, str(key))
    assert [
        name for name in releases.names() if not any(line.startswith(f"{name} ") or line == name for line in lines)
    ] == []


def test_the_releases_of_an_api_mark_where_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "produce")
    assert "3.6.2     0-9        0-9     -" in lines
    assert "3.7.2     0-10       0-10    -           zookeeper 0-10, broker 0-10" in lines
    assert "4.0.0                0-12    -           no zookeeper, broker 0-12" in lines
    assert "closes the connection on" in " ".join(lines)


def test_a_release_lists_its_features(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "3.7")
    assert lines[:4] == [
        "Kafka 3.7.2, ZooKeeper mode, as its broker responded",
        "  broker listener: 61 APIs",
        "    features in ApiVersions v3, with an epoch: none",
        "",
    ]
    assert "      metadata.version  1-19       19 (3.7-IV4)" in lines
    for name in releases.names():
        assert printed(capsys, name)[-1] == f"broker-sim protocol list --release {name} lists its APIs."


def test_the_features_of_all_releases_have_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--features")
    assert "4.3.1 kraft  kraft.version                     0-1        -" in lines
    assert "4.3.1 kraft  transaction.version               0-2        2" in lines


def test_machines_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(json.loads("\n".join(printed(capsys, "--json")))) == 45
    produce = json.loads("\n".join(printed(capsys, "Produce", "--json")))
    assert produce["releases"][-1] == {"release": "4.3.1", "broker": [0, 13]}
    (release,) = json.loads("\n".join(printed(capsys, "4.3", "--json")))
    assert release["listeners"]["broker"]["features"]["v4"]["supported"]["group.version"] == [0, 1]


def test_what_is_not_there_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "5.0").startswith("no broker release '5.0' is known; did you mean 4.3.1?")
    assert refused(capsys, "Prodce") == "no API or schema 'Prodce': did you mean Produce?"
    assert refused(capsys, "GroupMetadataValue").startswith("GroupMetadataValue is no API")
    assert refused(capsys, "3.7", "--features").startswith("--features lists every release")
