"""Many members in one group, and many groups: the time to settle, and the memory and CPU of the broker.

    python benchmarks/groups.py [--members N] [--groups N] [--real]

Members are confluent-kafka consumers in one process; the rebalance delay is 0, and the time is the mean of some rounds.
A round of the classic protocol takes 0.2, 2 or 3 seconds: a client waits a second between two JoinGroup requests and
three between two heartbeats, and chance decides how often it joins. `--real` compares with a real Kafka 4.3.1 in turn.
Groups are made over three connections, one per member: each group joins, rejoins until all members are in one
generation, and then sends heartbeats.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Consumer

from benchmarks.process_usage import cpu_seconds, peak_memory_mb
from benchmarks.result import Result, table
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol_specs.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.interop.real_kafka import AS_SHIPPED, real_kafka
from tests.interop.served_cluster import served_cluster
from tests.interop.servers import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMBERS = 40
ROUNDS = {"classic": 9, "consumer": 3}
RELEASE = "4.3.1"
DELAY = "group.initial.rebalance.delay.ms"
GROUPS = 1_000
MEMBERS_PER_GROUP = 3
OPTIONS = ("--brokers", "1", "--port", "0", "-o", f"{DELAY}=0")
SETTLE_SECONDS_MAX = {"classic": 1.1, "consumer": 10.0}
MEMORY_MB_MAX = 150.0
IDLE_SHARE_MAX = 0.05
RUN_SECONDS_MAX = 60.0
IDLE_SECONDS = 5.0
FRAME_BYTES_MAX = 1 << 20
JOIN_VERSION = 3
METADATA = b"\0\0\0\0\0\1\0\1t\0\0\0\0"
"""A subscription of version 0 to one topic."""


class Connection:
    """One blocking connection to a broker."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, RUN_SECONDS_MAX)
        self._frames = FrameReader(limit_bytes=FRAME_BYTES_MAX, option="benchmark")
        self._received: list[bytes] = []
        self._correlation_id = 0

    def send(self, request: Any, version: int) -> None:
        """Send a request."""
        self._correlation_id += 1
        self._socket.sendall(encode_request(request, version, correlation_id=self._correlation_id, client_id="groups"))

    def receive(self, response_type: Any, version: int) -> Any:
        """Return the next response."""
        while not self._received:
            data = self._socket.recv(1 << 16)
            if not data:
                raise SystemExit("the broker has closed the connection")
            self._received = self._frames.receive(data)
        return decode_response(response_type, version, self._received.pop(0))[1]

    def exchange(self, request: Any, response_type: Any, version: int) -> Any:
        """Send a request and return its response."""
        self.send(request, version)
        return self.receive(response_type, version)


def settle_seconds(bootstrap: str, protocol: str, members: int, partitions: int) -> float:
    """Return the seconds from the first subscription until every member has its equal share of the partitions."""
    own = {"group.protocol": "consumer"} if protocol == "consumer" else {"session.timeout.ms": 10_000}
    consumers = [
        Consumer({"bootstrap.servers": bootstrap, "group.id": f"settle-{protocol}", **own}) for _ in range(members)
    ]
    started = time.perf_counter()
    for consumer in consumers:
        consumer.subscribe(["t"])
    deadline = started + RUN_SECONDS_MAX
    while any(len(consumer.assignment()) != partitions // members for consumer in consumers):
        if time.perf_counter() > deadline:
            raise SystemExit(f"{members} members of a {protocol} group did not settle within {RUN_SECONDS_MAX:.0f} s")
        for consumer in consumers:
            consumer.poll(0)
        time.sleep(0.001)
    elapsed_s = time.perf_counter() - started
    for consumer in consumers:
        consumer.close()
    return elapsed_s


def make_groups(address: tuple[str, int], groups: int) -> list[tuple[Connection, HeartbeatRequest]]:
    """Make groups of three members; return the heartbeats of their members."""
    connections = [Connection(address) for _ in range(MEMBERS_PER_GROUP)]
    deadline = time.perf_counter() + RUN_SECONDS_MAX
    while connections[0].exchange(FindCoordinatorRequest(key="g"), FindCoordinatorResponse, 1).error_code:
        if time.perf_counter() > deadline:
            raise SystemExit("no coordinator is available")
        time.sleep(0.05)
    heartbeats = []
    for number in range(groups):
        heartbeats += _make_group(connections, f"group-{number}")
    return heartbeats


def _make_group(connections: list[Connection], group_id: str) -> list[tuple[Connection, HeartbeatRequest]]:
    ids = [""] * MEMBERS_PER_GROUP
    joined: list[Any] = []
    for count in range(1, MEMBERS_PER_GROUP + 1):
        # The newcomer's JoinGroup waits until the members before it have joined again.
        connections[count - 1].send(_join(group_id, ""), JOIN_VERSION)
        for place in range(count - 1):
            beat = HeartbeatRequest(group_id=group_id, generation_id=joined[0].generation_id, member_id=ids[place])
            while not connections[place].exchange(beat, HeartbeatResponse, 2).error_code:
                pass  # the newcomer has not arrived
            connections[place].send(_join(group_id, ids[place]), JOIN_VERSION)
        joined = [connections[place].receive(JoinGroupResponse, JOIN_VERSION) for place in range(count)]
        ids[:count] = [response.member_id for response in joined]
    generation = joined[0].generation_id
    for place, response in enumerate(joined):
        parts = [SyncGroupRequestAssignment(member_id=each, assignment=b"\0\0") for each in ids]
        leads = response.leader == response.member_id
        request = SyncGroupRequest(
            group_id=group_id, generation_id=generation, member_id=ids[place], assignments=parts if leads else []
        )
        connections[place].send(request, 2)
    for place in range(MEMBERS_PER_GROUP):
        response = connections[place].receive(SyncGroupResponse, 2)
        if response.error_code:
            raise SystemExit(f"{group_id}: {ErrorCode(response.error_code).name}")
    return [
        (connections[place], HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=ids[place]))
        for place in range(MEMBERS_PER_GROUP)
    ]


def _join(group_id: str, member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=METADATA)],
    )


@contextlib.contextmanager
def real(members: int) -> Iterator[tuple[str, int]]:
    """Start a real broker with the topic of the members; its bootstrap servers and process id."""
    with real_kafka(RELEASE, settings={DELAY: "0"}, jvm=AS_SHIPPED) as kafka:
        create_topic(kafka.bootstrap_servers, "t", members)
        yield kafka.bootstrap_servers, kafka.pid_of(1)


def settle(protocol: str, members: int, *, with_real: bool) -> Result:
    """Measure how long the members of one group take to settle, beside a real broker if requested."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(served_cluster(*OPTIONS, "--topic", f"t:{members}:1"))
        servers = [(cluster.bootstrap_servers, cluster.process.pid)]
        if with_real:
            servers.append(stack.enter_context(real(members)))
        for bootstrap, _ in servers:
            settle_seconds(bootstrap, protocol, 1, members)
        before_s = [cpu_seconds(pid) for _, pid in servers]
        rounds = [
            [settle_seconds(bootstrap, protocol, members, members) for bootstrap, _ in servers]
            for _ in range(ROUNDS[protocol])
        ]
        used_s = [cpu_seconds(pid) - before for (_, pid), before in zip(servers, before_s, strict=True)]
    means = [statistics.mean(column) for column in zip(*rounds, strict=True)]
    texts = [f"{mean:.2f} s, {used / len(rounds):.2f} s CPU" for mean, used in zip(means, used_s, strict=True)]
    return Result(
        name=f"{members} members settle, {protocol} protocol",
        ours=texts[0],
        other=texts[-1] if with_real else "",
        figure=means[0],
        target=round(means[-1], 2) if with_real else SETTLE_SECONDS_MAX[protocol],
        at_least=False,
        unit=" s",
    )


def run(members: int = MEMBERS, groups: int = GROUPS, *, with_real: bool = False) -> list[Result]:
    """Measure both protocols with many members, and a broker with many groups."""
    results = [settle(protocol, members, with_real=with_real) for protocol in SETTLE_SECONDS_MAX]
    with served_cluster(*OPTIONS, "-o", "offsets.topic.num.partitions=1", "--topic", "t:1:1") as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        pid = cluster.process.pid
        heartbeats = make_groups((host, int(port)), groups)
        memory_mb = peak_memory_mb(pid)
        before_s = cpu_seconds(pid)
        for connection, heartbeat in heartbeats:
            assert connection.exchange(heartbeat, HeartbeatResponse, 2).error_code == ErrorCode.NONE
        heartbeats_us = (cpu_seconds(pid) - before_s) / len(heartbeats) * 1e6
        before_s = cpu_seconds(pid)
        time.sleep(IDLE_SECONDS)
        idle = (cpu_seconds(pid) - before_s) / IDLE_SECONDS
    name = f"{groups} groups of {MEMBERS_PER_GROUP} members"
    results.append(
        Result.at_most(
            f"{name}, peak memory", memory_mb, MEMORY_MB_MAX, " MB", ours=f"{heartbeats_us:.0f} us CPU/heartbeat"
        )
    )
    results.append(Result.at_most(f"{name}, idle share of a core", idle, IDLE_SHARE_MAX, "", ours=""))
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=MEMBERS, help="members of the large group")
    parser.add_argument("--groups", type=int, default=GROUPS, help="number of groups")
    parser.add_argument("--real", action="store_true", help=f"compare the large group with Kafka {RELEASE}")
    given = parser.parse_args()
    print(table(run(given.members, given.groups, with_real=given.real)))
