"""Groups of franz-go, sarama, kafka-go and kafkajs: members join, share partitions, commit, leave and go on."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Producer

from tests.interop.kafka_release import ToolMissingError
from tests.interop.servers import create_topic, serving
from tests.interop.test_franz_go import FETCHES_TOOLCHAINS, go_tool, go_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE: Final = Path(__file__).parent
GO_CLIENTS: Final = ("franz-go", "sarama", "kafka-go")
CLIENTS: Final = (*GO_CLIENTS, "kafkajs")
PARTITIONS: Final = 4
BUILD_SECONDS_MAX: Final = 220
WAIT_SECONDS_MAX: Final = 40

Command = list[str]
Record = tuple[int, int]


class Member:
    """A running member: what it was assigned last, and the (partition, offset) of each record that it printed."""

    def __init__(self, command: Command, stderr: Path) -> None:
        self.assigned: list[int] | None = None
        self.records: list[Record] = []
        self._stderr = stderr
        with stderr.open("w") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self._unread = b""

    def read_until(self, reached: Callable[[], bool], others: tuple[Member, ...] = ()) -> None:
        """Read what this member and others print until a condition holds."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        streams = {each._process.stdout.fileno(): each for each in (self, *others) if each._process.stdout}
        while not reached():
            left_s = deadline - time.monotonic()
            ready = select.select(list(streams), [], [], max(left_s, 0))[0]
            assert ready, f"assigned {self.assigned}, records {len(self.records)}: {self._stderr.read_text()}"
            for number in ready:
                streams[number].read_lines()

    def read_lines(self) -> None:
        """Read what it has printed."""
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        assert data, f"the member has ended: {self._stderr.read_text()}"
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            kind, *words = line.split()
            if kind == b"assigned":
                self.assigned = [int(word) for word in words]
            else:
                self.records.append((int(words[0]), int(words[1])))

    def leave(self) -> None:
        """Let it leave the group, and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(WAIT_SECONDS_MAX) == 0, self._stderr.read_text()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(WAIT_SECONDS_MAX)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@pytest.fixture(scope="module")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if go_version() < FETCHES_TOOLCHAINS:
        raise ToolMissingError("the Go clients need Go 1.21 or later: the Go in PATH is older")
    binary = tmp_path_factory.mktemp("go_groups") / "member"
    command = [go_tool(), "build", "-o", str(binary), "."]
    build = subprocess.run(
        command, cwd=HERE / "go_groups", capture_output=True, text=True, check=False, timeout=BUILD_SECONDS_MAX
    )
    assert build.returncode == 0, build.stderr
    return binary


def installed_kafkajs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new folder in which programs find kafkajs. Raise ToolMissingError."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise ToolMissingError("no node or no npm in PATH: install nodejs and npm")
    folder = tmp_path_factory.mktemp("kafkajs")
    shutil.copy(HERE / "kafkajs" / "package.json", folder)
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS_MAX)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def js_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = installed_kafkajs(tmp_path_factory)
    return Path(shutil.copy(HERE / "kafkajs" / "member.js", folder))


@pytest.fixture(params=CLIENTS)
def command(request: pytest.FixtureRequest) -> Command:
    """The command of a client's member, up to its servers, group and topic."""
    if request.param == "kafkajs":
        return ["node", str(request.getfixturevalue("js_program"))]
    return [str(request.getfixturevalue("go_program")), request.param]


@pytest.fixture(scope="module", params=["broker-sim", "kafka-4.3.1"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param, "unused", PARTITIONS) as bootstrap_servers:
        yield bootstrap_servers


def produce(servers: str, topic: str, count: int) -> None:
    """Write `count` records to each partition."""
    producer = Producer({"bootstrap.servers": servers})
    for number in range(count):
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(60) == 0


def test_members_share_the_partitions_and_go_on_where_they_left(servers: str, command: Command, tmp_path: Path) -> None:
    topic = group = re.sub(r"\W+", "-", f"{Path(command[-1]).name}-{os.getpid()}")
    create_topic(servers, topic, PARTITIONS)
    members: list[Member] = []

    def join() -> Member:
        members.append(Member([*command, servers, group, topic], tmp_path / f"{len(members)}.log"))
        return members[-1]

    everything = list(range(PARTITIONS))
    produce(servers, topic, 5)
    try:
        first = join()
        first.read_until(lambda: first.assigned == everything and len(first.records) == 5 * PARTITIONS)
        second = join()
        second.read_until(lambda: _is_shared(first, second), others=(first,))
        produce(servers, topic, 5)
        second.read_until(lambda: len(first.records) + len(second.records) == 10 * PARTITIONS, others=(first,))
        assert {partition for partition, _ in second.records} == set(second.assigned or ())
        first.leave()
        second.read_until(lambda: second.assigned == everything)
        second.leave()
        third = join()
        produce(servers, topic, 1)
        third.read_until(lambda: len(third.records) == PARTITIONS)
        third.leave()
    finally:
        for member in members:
            member.kill()
    read = first.records + second.records + third.records
    assert sorted(read) == [(partition, offset) for partition in everything for offset in range(11)]


def _is_shared(first: Member, second: Member) -> bool:
    shares = [each.assigned or [] for each in (first, second)]
    return sorted(shares[0] + shares[1]) == list(range(PARTITIONS)) and len(shares[0]) == len(shares[1])
