"""`broker-sim protocol coverage`: counts, single versions, what is missing, JSON and exit codes."""

from __future__ import annotations

import dataclasses
import json

import pytest

from broker_scenarios.cli import main
from protocol_specs import coverage


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["protocol", "coverage", *arguments]) == code
    return capsys.readouterr().out


@pytest.fixture
def unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing proves Heartbeat's requests."""
    table = coverage.load()
    proven = {name: proofs for name, proofs in table.proven.items() if name != "HeartbeatRequest"}
    bare = dataclasses.replace(table, proven=proven)
    monkeypatch.setattr(coverage, "load", lambda: bare)


def test_it_counts_every_kind_and_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    titles = [line.split("  ")[0] for line in lines[1:9]]
    assert titles[0] == "requests"
    assert titles[-1] == "total"
    assert lines[0].split()[-1] == "nothing"
    assert [line.split()[-1] for line in lines[1:9]] == ["0"] * 8
    assert "unstable among them: InitProducerIdRequest v6, InitProducerIdResponse v6" in lines


def test_it_shows_who_proves_each_version_of_an_api(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split() for line in printed(capsys, "--api", "produce").splitlines()]
    assert rows[0][:6] == ["message", "version", "vectors", "kio", "kafka-python", "aiokafka"]
    first = next(row for row in rows if row[:2] == ["ProduceRequest", "0"])
    assert first[2:8] == ["yes", "-", "yes", "yes", "yes", "-"]
    assert first[8:] == ["listed", "0.8.0", "to", "4.3.1"]


def test_an_unstable_version_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(printed(capsys, "--api", "22", "--json"))
    assert [(p["message"], p["version"]) for p in made["pairs"] if p["unstable"]] == [
        ("InitProducerIdRequest", 6),
        ("InitProducerIdResponse", 6),
    ]


def test_what_no_peer_proves_is_listed_with_what_does(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--missing").splitlines()
    assert lines[0] == "proven by no peer:"
    assert all(" v0 " in line and " vectors " in line for line in lines[1:])


@pytest.mark.usefixtures("unproven")
def test_a_version_that_nothing_proves_is_named_and_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "HeartbeatRequest v4" in printed(capsys, "--missing", code=1)
    total = json.loads(printed(capsys, "--json", code=1))["total"]
    assert (total["nothing"], total["excused"]) == (5, 0)


def test_an_unknown_api_is_one_line_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "coverage", "--api", "Fetchh"]) == 2
    assert capsys.readouterr().err == "no API or schema 'Fetchh': did you mean Fetch?\n"
