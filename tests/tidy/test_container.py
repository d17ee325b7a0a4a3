"""The Dockerfile and the examples of docs/how-to/run-in-ci.md: their commands are commands of broker-sim."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from broker_scenarios.cli import make_parser
from tests.interop.served_cluster import command, environment, served_cluster

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PAGE = (ROOT / "docs/how-to/run-in-ci.md").read_text()
EXAMPLES = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
PATIENCE_S = 30


def instruction(name: str) -> list[str]:
    """The JSON form of the last instruction of a name."""
    found: list[str] = json.loads(re.findall(rf"^{name} (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])
    return found


def texts(value: object) -> list[str]:
    """All texts in an example."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


COMMANDS = [
    shlex.split(re.split(r" [>&|]|;", text)[0])[1:]
    for example in EXAMPLES
    for text in texts(example)
    if text.startswith("broker-sim ")
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_of_an_example_is_one_of_broker_sim(arguments: list[str]) -> None:
    assert make_parser().parse_args(arguments).run is not None


def test_there_are_examples_for_github_gitlab_and_compose() -> None:
    assert [next(iter(example)) for example in EXAMPLES] == ["name", "kafka", "verdict", "services"]
    assert len(COMMANDS) == 4


def test_the_command_of_the_image_serves_as_its_health_check_expects() -> None:
    arguments = [argument.replace(":9092", ":0") for argument in instruction("CMD")]
    assert arguments != instruction("CMD")
    assert instruction("ENTRYPOINT") == ["broker-sim"]
    with served_cluster(*arguments[1:]) as cluster:
        host, port = cluster.bootstrap_servers.split(",")[0].split(":")
        assert host == "localhost"
        checks = re.findall(r'CMD (\["python".*\])', DOCKERFILE)
        [_, _, program] = json.loads(checks[0])
        assert "('localhost', 9092)" in program
        exec(program.replace("9092", port), {})
        # Bound to all addresses, not to the advertised one alone.
        socket.create_connection(("127.0.0.2", int(port)), PATIENCE_S).close()


def test_the_image_runs_as_an_unprivileged_user() -> None:
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001"]


def test_the_build_has_each_package_and_file_that_the_wheel_needs() -> None:
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    packages = {"broker_sim", "client", "protocol_specs", "scenarios", "sim_runtime"}
    assert set(kept) == packages | {"pyproject.toml", "README.md", "LICENSE"}


def test_the_service_of_compose_advertises_its_name_and_the_host() -> None:
    *_, compose = EXAMPLES
    given = [each.replace(":9092", ":0").replace(":19092", ":0") for each in compose["services"]["kafka"]["command"]]
    with subprocess.Popen(command(*given), stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        inside, host = (process.stdout.readline().strip().partition("=")[2] for _ in range(2))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    assert {each.split(":")[0] for each in inside.split(",")} == {"kafka"}
    assert {each.split(":")[0] for each in host.split(",")} == {"localhost"}
