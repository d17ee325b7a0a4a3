from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from broker_scenarios.drivers.catalogue import DRIVERS
from broker_scenarios.drivers.driver import DriverChoice
from broker_scenarios.drivers.installed import command_of, install, installed_versions
from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.scenario import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

CASE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {driver: DRIVER, producer: {PRODUCER}, script: [SCRIPT]}
expect: {lost: 0}
"""


def case(folder: Path, *, driver: str = "aiokafka", producer: str = "linger.ms: 0", script: str = "send: 1") -> Path:
    path = folder / "case.yaml"
    path.write_text(CASE.replace("DRIVER", driver).replace("PRODUCER", producer).replace("SCRIPT", script))
    return path


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"driver": "aiokafk"}, "clients.app.driver: expected one of .*, not 'aiokafk'; did you mean 'aiokafka'"),
        ({"driver": "{name: kafka}"}, "clients.app.driver.name: expected one of "),
        ({"driver": "{version: '1'}"}, "clients.app.driver.name: missing"),
        ({"producer": "linger: 0"}, "clients.app.producer.linger: driver aiokafka takes no linger of a producer; did"),
        ({"producer": "buffer.memory: 1"}, "driver aiokafka takes no buffer.memory of a producer"),
        ({"producer": "client.id: me"}, "clients.app.producer.client.id: is set by the run itself"),
        ({"script": "send_offsets"}, r"clients.app.script.0: driver aiokafka cannot send_offsets; it can abort, act"),
        ({"script": "repeat: {times: 2, steps: [copy: {to: orders, records: 1}]}"}, "driver aiokafka cannot copy"),
        ({"script": "send: {on_delivery: flush}"}, "makes no calls within a delivery callback"),
        ({"script": "restart: {producer: {linger: 1}}"}, "takes no linger of a producer"),
    ],
)
def test_what_a_driver_cannot_do_is_refused_by_name(tmp_path: Path, parts: dict[str, str], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        load_scenario(case(tmp_path, **parts))


LOAD = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
   {driver: {name: verifiable-producer, version: 4.3.1}, COUNT
    producer: {}, load: {records: 5, rate_per_second: 5, KEYS}}
expect: {lost: 0}
"""


@pytest.mark.parametrize(
    ("count", "keys", "problem"),
    [
        ("", "zipf: 1", "clients.app.load: driver verifiable-producer sends no keys: expected `keys: 0`"),
        ("count: 2,", "keys: 0", "clients.app.count: driver verifiable-producer sends a load whole"),
        ("script: [flush],", "keys: 0", "driver verifiable-producer cannot flush"),
    ],
)
def test_a_tool_of_kafka_sends_a_load_as_it_chooses(tmp_path: Path, count: str, keys: str, problem: str) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(LOAD.replace("COUNT", count).replace("KEYS", keys))
    with pytest.raises(ScenarioError, match=problem):
        load_scenario(path)


MEMBER = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}, bills: {partitions: 1, replication_factor: 1}}
clients: {app: {driver: {name: verifiable-consumer, version: 4.3.1}, consumer: {GROUP}, script: [STEP, close]}}
expect: {lost: 0}
"""


@pytest.mark.parametrize(
    ("group", "step", "problem"),
    [
        ("", "{subscribe: [orders]}", "consumes as a member: expected a group.id"),
        ("group.id: g", "{subscribe: [orders, bills]}", "subscribes to one topic"),
        ("group.id: g", "{poll: {until: end}}", "does not read the ends of partitions"),
        ("group.id: g", "{assign: [orders]}", "driver verifiable-consumer cannot assign"),
    ],
)
def test_a_tool_of_kafka_is_a_member_of_a_group(tmp_path: Path, group: str, step: str, problem: str) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(MEMBER.replace("GROUP", group).replace("STEP", step))
    with pytest.raises(ScenarioError, match=problem):
        load_scenario(path)


def test_a_tool_of_kafka_needs_the_jars_of_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_SIM_DRIVERS", str(tmp_path))
    driver = DRIVERS["verifiable-producer"]
    with pytest.raises(ScenarioError, match=r"driver verifiable-producer 1.0 needs Java and the jars of its version"):
        command_of(DriverChoice(driver, "1.0"))
    with pytest.raises(ScenarioError, match="part of Kafka's releases"):
        install(DriverChoice(driver, "1.0"))


def test_defects_are_those_of_this_projects_client(tmp_path: Path) -> None:
    path = case(tmp_path)
    path.write_text(path.read_text().replace("script:", "defects: [no-mute], script:"))
    with pytest.raises(ScenarioError, match="driver aiokafka has its own"):
        load_scenario(path)


def test_virtual_time_refuses_a_driver_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(case(tmp_path, driver="confluent-kafka"))]) == 2
    assert "driver confluent-kafka needs real sockets, not virtual time: run with --local" in capsys.readouterr().err


def test_a_version_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKER_SIM_DRIVERS", str(tmp_path))
    assert main(["run", str(case(tmp_path, driver="{name: aiokafka, version: '0.0.7'}")), "--local"]) == 2
    assert "is not installed: broker-sim drivers install aiokafka 0.0.7" in capsys.readouterr().err


def test_a_version_is_found_in_its_folder_when_that_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_SIM_DRIVERS", str(tmp_path))
    driver = DRIVERS["aiokafka"]
    (tmp_path / "aiokafka-0.0.7").mkdir()
    with pytest.raises(ScenarioError, match="is not installed"):
        command_of(DriverChoice(driver, "0.0.7"))
    (tmp_path / "aiokafka-0.0.7" / "whole").touch()
    assert installed_versions(driver)[-1] == "0.0.7"
    assert command_of(DriverChoice(driver, "0.0.7")).variables == {"PYTHONPATH": str(tmp_path / "aiokafka-0.0.7")}
    assert command_of(DriverChoice(driver, installed_versions(driver)[0])).variables == {}


def test_a_program_that_is_not_compiled_is_named_with_the_command_that_compiles_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_SIM_DRIVERS", str(tmp_path))
    driver = DRIVERS["franz-go"]
    with pytest.raises(
        ScenarioError, match="driver franz-go is not installed: broker-sim drivers install franz-go VER"
    ):
        command_of(DriverChoice(driver))
    monkeypatch.setattr("broker_scenarios.drivers.installed._run", lambda *_: None)
    for version in ("1.9.0", "1.20.7"):
        install(DriverChoice(driver, version))
    assert command_of(DriverChoice(driver)).name == "franz-go 1.20.7"
    assert command_of(DriverChoice(driver, "1.9.0")).arguments == (str(tmp_path / "franz-go-1.9.0" / "client"),)
    (tmp_path / "franz-go-1.9.0" / "whole").write_text("the digest of another program")
    with pytest.raises(ScenarioError, match=r"franz-go 1.9.0 is not installed"):
        command_of(DriverChoice(driver, "1.9.0"))


def test_the_list_of_drivers_shows_what_each_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drivers", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DRIVERS)
    assert "commit_offsets" in shown


def test_an_unknown_driver_cannot_be_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drivers", "install", "aiokafk", "1"]) == 2
    assert "there is no driver 'aiokafk'" in capsys.readouterr().err


def test_a_driver_promises_by_its_own_defaults() -> None:
    assert DRIVERS["confluent-kafka"].promises_of({"message.send.max.retries": "0"}, None) == {
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1000000",
        "retries": "0",
    }


def test_a_version_promises_by_its_own_defaults() -> None:
    driver = DRIVERS["kafka-python"]
    old = {"acks": "1", "retries": "0", "enable.idempotence": "false"}
    assert driver.promises_of({}, "2.0.2") == driver.promises_of({}, "2.3.3") == old
    assert driver.promises_of({}, "3.0.0") == driver.promises_of({}, "10.1") == driver.promises_of({}, None) == {}
