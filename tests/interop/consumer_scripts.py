"""Runs a script with Java's consumer and with ours through a recording proxy; the requests as comparable lines.

Left out or made equal: client ids, correlation ids, connection numbers, repeated requests of some kinds (their number
depends on time), member ids (numbered by appearance), and the order of topics in a request.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_client import Consumer, GroupMembershipOperation, OffsetAndMetadata, TopicPartition
from broker_client.errors import ProducerError
from tests.interop.prepared_release import java_command
from tests.interop.recording_proxy import RecordingProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.interop.recording_proxy import RecordedRequest

PROGRAM: Final = Path(__file__).parent / "java" / "ScriptedConsumer.java"
STEP_SECONDS_MAX: Final = 60
REPEATED: Final = (
    "Heartbeat",
    "Fetch",
    "ConsumerGroupHeartbeat",
    "ShareGroupHeartbeat",
    "ShareFetch",
    "Metadata",
)
TELEMETRY: Final = ("GetTelemetrySubscriptions", "PushTelemetry")


def _is_local(steps: Sequence[str]) -> bool:
    """Return True if the first step waits for no response: requests are held for it.

    Otherwise the time from the constructor to `subscribe` decides whether Metadata is requested without topics.
    """
    return steps[0].split(" ")[0] in {"subscribe", "assign"}


def run_java(
    release: str, server: str, config: Mapping[str, str], steps: Sequence[str], *, program: Path = PROGRAM
) -> list[RecordedRequest]:
    """The requests of Java's consumer."""
    with RecordingProxy(server) as proxy:
        given = {"bootstrap.servers": proxy.bootstrap_servers, "enable.metrics.push": "false", **config}
        if release.startswith("3.6"):
            del given["enable.metrics.push"]
        command = java_command(release, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
        command += [str(program), *(f"{name}={value}" for name, value in given.items())]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert process.stdin is not None
        assert process.stdout is not None
        proxy.is_held = _is_local(steps)
        with process:
            for step in steps:
                process.stdin.write(step + "\n")
                process.stdin.flush()
                outcome = process.stdout.readline().strip()
                assert outcome == "ok", (step, outcome)
                proxy.release()
            process.stdin.close()
            process.wait(STEP_SECONDS_MAX)
        return proxy.requests


def run_ours(server: str, config: Mapping[str, str], steps: Sequence[str]) -> list[RecordedRequest]:
    """The requests of our consumer."""
    return run_script(server, config, steps, lambda options: Consumer(**options), _STEPS)


def run_script(
    server: str,
    config: Mapping[str, str],
    steps: Sequence[str],
    make: Callable[[Mapping[str, Any]], Any],
    actions: Mapping[str, Callable[..., object]],
) -> list[RecordedRequest]:
    """The requests of a consumer of ours: `actions` has a function of it for each step."""
    with RecordingProxy(server) as proxy:
        options: dict[str, Any] = {name.replace(".", "_"): value for name, value in config.items()}
        proxy.is_held = _is_local(steps)
        consumer = make({"bootstrap_servers": proxy.bootstrap_servers, **options})
        try:
            for step in steps:
                word, *rest = step.split(" ")
                actions[word](consumer, *rest)
                proxy.release()
        finally:
            consumer.close()
        return proxy.requests


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def _records(consumer: Consumer, count: str) -> None:
    left = int(count)
    deadline_s = time.monotonic() + STEP_SECONDS_MAX
    while left > 0:
        assert time.monotonic() < deadline_s
        left -= len(consumer.poll(0.1))


def _owned(consumer: Consumer, count: str) -> None:
    deadline_s = time.monotonic() + STEP_SECONDS_MAX
    while len(consumer.assignment()) != int(count):
        assert time.monotonic() < deadline_s
        consumer.poll(0.05)


def _poll(consumer: Consumer, duration_ms: str) -> None:
    end_s = time.monotonic() + int(duration_ms) / 1000
    while time.monotonic() < end_s:
        consumer.poll(0.05)


_STEPS: Final[dict[str, Callable[..., object]]] = {
    "subscribe": lambda consumer, topics: consumer.subscribe(topics.split(",")),
    "pattern": lambda consumer, pattern: consumer.subscribe(re.compile(pattern)),
    "assign": lambda consumer, keys: consumer.assign([_partition(key) for key in keys.split(",")]),
    "records": _records,
    "owned": _owned,
    "poll": _poll,
    "commit": lambda consumer: consumer.commit(),
    "commit-offset": lambda consumer, key, offset: consumer.commit(
        {_partition(key): OffsetAndMetadata(offset=int(offset), metadata="m")}
    ),
    "committed": lambda consumer, key: consumer.committed([_partition(key)]),
    "position": lambda consumer, key: consumer.position(_partition(key)),
    "seek": lambda consumer, key, offset: consumer.seek(_partition(key), int(offset)),
    "seek-to-end": lambda consumer, key: consumer.seek_to_end(_partition(key)),
    "pause": lambda consumer, key: consumer.pause(_partition(key)),
    "resume": lambda consumer, key: consumer.resume(_partition(key)),
    "unsubscribe": lambda consumer: consumer.unsubscribe(),
    "rebalance": lambda consumer: consumer.enforce_rebalance(),
    "close": lambda consumer: consumer.close(),
    "close-leave": lambda consumer: consumer.close(group_membership=GroupMembershipOperation.LEAVE_GROUP),
    "close-remain": lambda consumer: consumer.close(group_membership=GroupMembershipOperation.REMAIN_IN_GROUP),
    "partitions": lambda consumer, topic: consumer.partitions_for(topic),
    "list": lambda consumer: consumer.list_topics(),
    "lag": lambda consumer, key: consumer.current_lag(_partition(key)),
    "seek-metadata": lambda consumer, key, offset, epoch: consumer.seek(
        _partition(key), OffsetAndMetadata(offset=int(offset), leader_epoch=int(epoch), metadata="m")
    ),
}


def lines_of(requests: Sequence[RecordedRequest], names: Mapping[str, str]) -> dict[str, list[str]]:
    """The requests of each kind in their order; `names` replaces texts that differ from run to run.

    ApiVersions is in the order of the connections: two that open at once do not wait for each other.
    """
    members: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for one in sorted(requests, key=lambda one: one.connection if one.api == "ApiVersions" else 0):
        if one.api in TELEMETRY:
            continue
        text = f"v{one.version} {_fields(one.body, one.version)}"
        for member in _member_ids(one.body):
            members.setdefault(member, f"member-{len(members) + 1}")
        for member, name in members.items():
            text = text.replace(member, name)
        for shown, name in names.items():
            text = text.replace(shown, name)
        text = re.sub(
            r"session_id=[1-9]\d*", "session_id=S", re.sub(r"session_epoch=[1-9]\d*", "session_epoch=N", text)
        )
        of_kind = lines.setdefault(one.api, [])
        if one.api not in REPEATED or text not in of_kind:
            of_kind.append(text)
    return lines


def _member_ids(body: Any) -> list[str]:
    found = [getattr(body, "member_id", "")]
    reason = re.search(r"given member-id: (\S+)", getattr(body, "reason", None) or "")
    if reason:
        found.insert(0, reason[1])
    return [one for one in found if one]


_LEFT_OUT: Final = ("unknown_tags", "client_software_name", "client_software_version")


def _fields(value: Any, version: int) -> str:
    """The fields of a message that its version has, with lists sorted by their text."""
    if isinstance(value, list):
        texts = [_fields(one, version) for one in value]
        return f"[{', '.join(sorted(texts))}]"
    if hasattr(value, "__slots__") and not isinstance(value, (bytes, str, int)):
        shown = [
            f"{name}={_field(name, getattr(value, name), version)}"
            for name in _names_of(value)
            if name not in _LEFT_OUT and not name.startswith("_")
        ]
        return f"({' '.join(shown)})"
    return repr(bytes(value)) if isinstance(value, (bytes, bytearray, memoryview)) else repr(value)


def _field(name: str, value: Any, version: int) -> str:
    return "topic-id" if name == "topic_id" and any(value) else _fields(value, version)


def _names_of(value: Any) -> list[str]:
    return [name for kind in reversed(type(value).__mro__) for name in getattr(kind, "__slots__", ())]


def outcome_of(call: Callable[[], object]) -> str:
    """ "ok", or the name of the error."""
    try:
        call()
    except ProducerError as error:
        return type(error).__name__
    return "ok"
