"""Clusters of another process, for the fixtures: attached by their address alone, or made over HTTP control.

The verbs are those of a ThreadedCluster. One that needs the process of the cluster is refused by name.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from broker_sim.argument_checks import checks_arguments
from broker_sim.cluster_input import config_texts
from broker_sim.cluster_state import (
    BrokerStatus,
    ConnectionStatus,
    GroupStatus,
    TopicStatus,
    TransactionStatus,
)
from broker_sim.cluster_verbs import ActionVerbs
from broker_sim.control.journal_file import read_event
from broker_sim.errors import BrokerSimError
from broker_sim.faults.engine import RuleReport
from broker_sim.faults.rule import RuleError
from broker_sim.http_control.operations.clusters import NewCluster
from broker_sim.stored_records import StoredRecord
from broker_sim.threaded_cluster import QUIET_MS, TIMEOUT_S, WAIT_S, ThreadedCluster
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from broker_sim.control.events import Event

__all__ = ["AttachedCluster", "ControlledCluster", "HttpControl"]

__tracebackhide__ = True

LATE: Final = re.compile(r"waited (\S+) ms for (.*); timeout_ms allows longer")
"""The problem of a wait that has ended without the state."""
UNAUTHORIZED: Final = 401
EVENTS_MAX: Final = 10_000
"""The events of one response."""
BODIES_MAX: Final = 500
"""The requests of one response that has their bodies."""
RECORDS_MAX: Final = 1_000
"""The records of one response."""


class AttachedCluster:
    """A running cluster of which the address alone is known."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.closed = False

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and (hasattr(ThreadedCluster, name) or name == "cluster"):
            raise BrokerSimError(self._refusal(name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _refusal(self, name: str) -> str:
        return (
            f"{name} needs the process of the cluster, and --kafka-bootstrap names its address alone: start it by "
            "`broker-sim serve --control HOST:PORT`, and give --kafka-control URL"
        )

    def rule_problems(self) -> list[str]:
        """Return nothing: its rules are not known."""
        return []

    def reset(self) -> None:
        """Do nothing: its topics, records and groups remain."""

    def close(self) -> None:
        """Leave it running."""
        self.closed = True


class HttpControl:
    """The client of an HTTP control address.

    Raises:
        BrokerSimError: the address does not respond, or the response is a problem; the message has its detail.
        DeadlineExceeded: a wait has ended without the state.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise BrokerSimError(f"--kafka-control {url}: expected a URL, such as http://127.0.0.1:8080")
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._open = build_opener(ProxyHandler({})).open

    def call(self, method: str, path: str, body: object = None, *, timeout_s: float = TIMEOUT_S, **query: Any) -> Any:
        """Send a request and return the JSON of its response, or its text; None without a body."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._url}{path}?{given}", data=data, method=method, headers=self._headers)
        try:
            with self._open(request, timeout=timeout_s) as response:
                text = response.read().decode()
                is_json = "json" in response.headers.get("Content-Type", "")
                return json.loads(text) if is_json and text else text or None
        except HTTPError as error:
            problem = error.read().decode()
            try:
                problem = json.loads(problem)["detail"]
            except (ValueError, KeyError, TypeError):
                problem = f"{error.code} {problem}"
            if (late := LATE.match(problem)) is not None:
                raise DeadlineExceeded(late[2], float(late[1]), "timeout_s") from None
            hint = " (--kafka-control-token-file)" if error.code == UNAUTHORIZED else ""
            raise BrokerSimError(f"{problem}{hint}") from None
        except (URLError, OSError) as error:
            cause = getattr(error, "reason", error)
            problem = reason_of(cause) if isinstance(cause, Exception) else cause
            raise BrokerSimError(f"--kafka-control {self._url}: {problem}") from None


@checks_arguments
class ControlledCluster(ActionVerbs, AttachedCluster):
    """A cluster in another process, made for a fixture, with the verbs that HTTP control has."""

    def __init__(self, control: HttpControl, **shape: Any) -> None:
        made = control.call("POST", "/clusters", _shape(shape))
        super().__init__(made["bootstrap_servers"])
        self.name: str = made["name"]
        self.controller_bootstrap_servers: str = made["controller_bootstrap_servers"]
        self._control = control

    def _refusal(self, name: str) -> str:
        return f"{name} needs a cluster in the process of the test: it is not in HTTP control (--kafka-control)"

    def _call(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        return self._control.call(method, f"/clusters/{self.name}{path}", body, **query)

    def _wait(self, what: str, timeout_s: float, **query: Any) -> Any:
        query["timeout_ms"] = timeout_s * 1000
        return self._call("GET", f"/wait/{what}", timeout_s=timeout_s + TIMEOUT_S, **query)

    def reset(self) -> None:
        """Replace the cluster by a new one of the same shape on the same ports."""
        self._call("POST", "/reset")

    def close(self) -> None:
        """Close the cluster in its process."""
        if not self.closed:
            self.closed = True
            self._call("DELETE", "")

    def kill(self, broker_id: int) -> None:
        """Kill a broker as SIGKILL does."""
        self._call("POST", f"/brokers/{broker_id}/kill")

    def stop(self, broker_id: int) -> None:
        """Shut a broker down in order."""
        self._call("POST", f"/brokers/{broker_id}/stop")

    def restart(self, broker_id: int) -> None:
        """Start a broker on its old port and its old log."""
        self._call("POST", f"/brokers/{broker_id}/restart")

    def pause(self, broker_id: int) -> None:
        """Let a broker stand still, as SIGSTOP does."""
        self._call("POST", f"/brokers/{broker_id}/pause")

    def resume(self, broker_id: int) -> None:
        """Let a paused broker go on."""
        self._call("POST", f"/brokers/{broker_id}/resume")

    def kill_controller(self, node_id: int | None = None) -> int:
        """Kill a controller, by default the active one; returns its id."""
        which = "active" if node_id is None else node_id
        killed: int = self._call("POST", f"/controllers/{which}/kill")["controller"]
        return killed

    def restart_controller(self, node_id: int) -> None:
        """Start a controller again."""
        self._call("POST", f"/controllers/{node_id}/restart")

    def do(self, act: str | Mapping[str, Any]) -> str:
        """Do an action of fault rules on the cluster now; returns the name of its rule."""
        name: str = self._call("POST", "/do", act)["name"]
        return name

    def rolling_restart(self) -> None:
        """Stop and start every broker, one at a time."""
        self.do({"rolling_restart": [broker.id for broker in self.brokers()]})

    def upgrade(self, release: str, broker_ids: Sequence[int] | None = None) -> None:
        """Restart brokers, by default all, as another release of their line."""
        for each in [{"to": release}] if broker_ids is None else [{"to": release, "broker": it} for it in broker_ids]:
            self.do({"upgrade": each})

    def finalize(self, release: str) -> None:
        """Set every feature to the level of a new cluster of a release."""
        self.do({"finalize": release})

    def jump_clock(self, broker_id: int, ms: float) -> None:
        """Move the wall clock of a broker ahead, back when negative."""
        self._call("POST", f"/brokers/{broker_id}/clock", {"jump_ms": ms})

    def drift_clock(self, broker_id: int, ppm: float) -> None:
        """Let the wall clock of a broker gain so many microseconds per second."""
        self._call("POST", f"/brokers/{broker_id}/clock", {"drift_ppm": ppm})

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker with its machine: a part of what it has not flushed is lost. It needs a `data_dir`."""
        self.do({"lose_power": broker_id})

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._call("DELETE", f"/topics/{quote(topic)}")

    def recreate_topic(self, topic: str) -> None:
        """Delete a topic, and create it with another id and the same partitions and configurations."""
        self._call("POST", f"/topics/{quote(topic)}/recreate")

    def add_partitions(self, topic: str, count: int = 1) -> None:
        """Add partitions to a topic."""
        self._call("POST", f"/topics/{quote(topic)}/partitions", {"count": count})

    def elect_leader(
        self, topic: str, partition: int = 0, *, broker_id: int | None = None, unclean: bool = False
    ) -> None:
        """Elect the preferred replica of a partition, or a named one."""
        wanted = {"broker": broker_id, "unclean": unclean}
        self._call("POST", f"/topics/{quote(topic)}/partitions/{partition}/elect", wanted)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Begin to move a partition to other replicas."""
        self._call("POST", f"/topics/{quote(topic)}/partitions/{partition}/reassign", {"replicas": list(replicas)})

    def delete_records(self, topic: str, partition: int = 0, before_offset: int | None = None) -> None:
        """Delete the records below an offset."""
        wanted = {"before_offset": before_offset}
        self._call("POST", f"/topics/{quote(topic)}/partitions/{partition}/delete-records", wanted)

    def delete_group(self, group_id: str) -> None:
        """Delete a group without members, and its offsets."""
        self._call("DELETE", f"/groups/{quote(group_id)}")

    def create_scram_user(
        self, user: str, password: str, *, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096
    ) -> None:
        """Set the password of a user for SCRAM."""
        given = {"password": password, "mechanism": mechanism, "iterations": iterations}
        self._call("PUT", f"/scram-users/{quote(user)}", given)

    def delete_scram_user(self, user: str, *, mechanism: str = "SCRAM-SHA-256") -> None:
        """Delete the password of a user for a mechanism."""
        self._call("DELETE", f"/scram-users/{quote(user)}", mechanism=mechanism)

    def force_rebalance(self, group_id: str) -> None:
        """Begin a rebalance of a group."""
        self._call("POST", f"/groups/{quote(group_id)}/rebalance")

    def isolate(self, node_id: int) -> None:
        """Cut a broker off from all other nodes."""
        self._call("POST", f"/brokers/{node_id}/isolate")

    def rejoin(self, node_id: int) -> None:
        """Restore the links of an isolated broker."""
        self._call("POST", f"/brokers/{node_id}/rejoin")

    def hold_link(self, source: int, target: int) -> None:
        """Keep every message from one node to another."""
        self._call("POST", f"/links/{source}/{target}/hold")

    def release_link(self, source: int, target: int) -> None:
        """Deliver the messages that a link holds."""
        self._call("POST", f"/links/{source}/{target}/release")

    def cut_link(self, source: int, target: int) -> None:
        """Lose every message from one node to another."""
        self._call("POST", f"/links/{source}/{target}/cut")

    def restore_link(self, source: int, target: int) -> None:
        """Deliver messages again."""
        self._call("POST", f"/links/{source}/{target}/restore")

    def slow_link(self, source: int, target: int, delay_ms: float) -> None:
        """Delay each message from one node to another."""
        self._call("POST", f"/links/{source}/{target}/delay", {"delay_ms": delay_ms})

    def create_topic(self, topic: str, configs: Mapping[str, str | int | float | bool] | None = None) -> None:
        """Create a topic, `name:partitions:replication`, with configurations by Kafka's names."""
        name, *counts = topic.split(":")
        numbers = zip(("partitions", "replication_factor"), map(int, counts), strict=False)
        self._call("POST", "/topics", {"name": name, **dict(numbers), "configs": config_texts(configs or {})})

    def leader_of(self, topic: str, partition: int = 0) -> int | None:
        """Return the leader's broker id, None while there is none."""
        leader: int | None = self._call("GET", f"/topics/{quote(topic)}/partitions/{partition}")["leader"]
        return leader

    def records(self, topic: str, partition: int | None = None) -> list[StoredRecord]:
        """Return the records that the leaders of a topic have stored, at most RECORDS_MAX."""
        found = self._call("GET", f"/topics/{quote(topic)}/records", partition=partition, limit=RECORDS_MAX)
        return [_record(each) for each in found]

    def wait_for_leader(
        self, topic: str, partition: int = 0, *, other_than: int | None = None, timeout_s: float = WAIT_S
    ) -> int:
        """Wait until a partition has a leader; returns its broker id."""
        found = self._wait("leader", timeout_s, topic=topic, partition=partition, other_than=other_than)
        leader: int = found["leader"]
        return leader

    def wait_for_isr(
        self, topic: str, partition: int = 0, brokers: Collection[int] | None = None, *, timeout_s: float = WAIT_S
    ) -> tuple[int, ...]:
        """Wait until the ISR of a partition is `brokers`, by default all of its replicas; returns the ISR."""
        wanted = None if brokers is None else ",".join(map(str, brokers))
        return tuple(self._wait("isr", timeout_s, topic=topic, partition=partition, brokers=wanted)["isr"])

    def wait_for_rule(self, name: str, fired: int = 1, *, timeout_s: float = WAIT_S) -> int:
        """Wait until a rule has fired at least `fired` times; returns how often it has."""
        count: int = self._wait("rule", timeout_s, rule=name, fired=fired)["fired"]
        return count

    def wait_for_records(self, topic: str, count: int = 1, *, timeout_s: float = WAIT_S) -> list[StoredRecord]:
        """Wait until the leaders of a topic have stored at least `count` records; returns them, as `records`."""
        self._wait("records", timeout_s, topic=topic, count=count)
        return self.records(topic)

    def wait_for_group(
        self, group_id: str, state: str = "Stable", *, members: int | None = None, timeout_s: float = WAIT_S
    ) -> GroupStatus:
        """Wait until a group has a state; returns the group."""
        return msgspec.convert(
            self._wait("group", timeout_s, group=group_id, state=state, members=members), GroupStatus
        )

    def wait_for_controller(self, *, other_than: int | None = None, timeout_s: float = WAIT_S) -> int:
        """Wait until there is an active controller; returns its node id."""
        active: int = self._wait("controller", timeout_s, other_than=other_than)["controller"]
        return active

    def wait_for_transaction(
        self, transactional_id: str, state: str = "CompleteCommit", *, timeout_s: float = WAIT_S
    ) -> TransactionStatus:
        """Wait until a transactional id has a state; returns its status."""
        found = self._wait("transaction", timeout_s, transactional_id=transactional_id, state=state)
        return msgspec.convert(found, TransactionStatus)

    def wait_until_quiet(self, quiet_ms: float = QUIET_MS, *, timeout_s: float = WAIT_S) -> None:
        """Wait until all nodes run, all replicas are equal, and nothing has changed for `quiet_ms`."""
        self._wait("quiet", timeout_s, quiet_ms=quiet_ms)

    def brokers(self) -> list[BrokerStatus]:
        """Return the brokers."""
        return msgspec.convert(self._call("GET", "/brokers"), list[BrokerStatus])

    def topics(self) -> list[TopicStatus]:
        """Return all topics."""
        return msgspec.convert(self._call("GET", "/topics"), list[TopicStatus])

    def connections(self) -> list[ConnectionStatus]:
        """Return the open connections of clients."""
        return msgspec.convert(self._call("GET", "/connections"), list[ConnectionStatus])

    def groups(self) -> list[GroupStatus]:
        """Return the groups."""
        return msgspec.convert(self._call("GET", "/groups"), list[GroupStatus])

    def transactions(self) -> list[TransactionStatus]:
        """Return the transactional ids."""
        return msgspec.convert(self._call("GET", "/transactions"), list[TransactionStatus])

    def add_rule(self, rule: Mapping[str, Any]) -> str:
        """Add a fault rule in its written form; returns its name."""
        name: str = self._call("POST", "/rules", rule)["name"]
        return name

    def release_rule(self, name: str) -> int:
        """Release the requests that a rule holds; returns their number."""
        released: int = self._call("POST", f"/rules/{quote(name)}/release")["released"]
        return released

    def remove_rule(self, name: str) -> RuleReport:
        """Remove a rule; returns its report."""
        return RuleReport(**self._call("DELETE", f"/rules/{quote(name)}"))

    def remove_rules(self) -> list[RuleReport]:
        """Remove every rule; returns their reports."""
        return [RuleReport(**each) for each in self._call("DELETE", "/rules")]

    def rule_reports(self) -> list[RuleReport]:
        """Return the report of each rule."""
        return [RuleReport(**each) for each in self._call("GET", "/rules")]

    def rule_problems(self) -> list[str]:
        """Return the problem of each rule that has one, with its name."""
        return [f"rule {report.name!r}: {report.problem}" for report in self.rule_reports() if report.problem]

    def report(self, journal: Path | None = None) -> str:  # noqa: ARG002 - the form of ThreadedCluster
        """Return the state of the cluster as text."""
        return str(self._call("GET", "/report")).rstrip()

    def check_rules(self) -> None:
        """Raise RuleError if a rule has a problem."""
        problems = self.rule_problems()
        if problems:
            raise RuleError(("rules",), "; ".join(problems))

    def events(self) -> list[Event]:
        """Return the events that the journal holds, in order; without bytes, such as those of removed batches."""
        return [event for _, event in self.numbered_events()]

    def numbered_events(self) -> list[tuple[int, Event]]:
        """Return the events that the journal holds, with their sequence numbers."""
        return [read_event(dict(line), f"{self.name}, event") for line in self._event_lines()]

    def dropped_events(self) -> int:
        """Return how many older events the journal has let go of."""
        dropped: int = self._call("GET", "/events", limit=1)["dropped"]
        return dropped

    def produce_requests(self) -> list[dict[str, Any]]:
        """Return the Produce requests of clients with their bodies, in the form of HTTP control."""
        found: list[dict[str, Any]] = []
        while page := self._call(
            "GET",
            "/requests",
            api="Produce",
            bodies="true",
            limit=BODIES_MAX,
            after=found[-1]["sequence"] if found else 0,
        ):
            found += page
        return found

    def release(self) -> str:
        """Return the Kafka release that the brokers emulate."""
        release: str = self._call("GET", "")["release"]
        return release

    def write_journal(self, path: Path) -> None:
        """Write the events that the journal holds to a file."""
        path.write_text("".join(f"{json.dumps(event)}\n" for event in self._event_lines()))

    def _event_lines(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        while page := self._call("GET", "/events", after=lines[-1]["sequence"] if lines else 0, limit=EVENTS_MAX)[
            "events"
        ]:
            lines += page
        return lines


def _shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of the request that makes a cluster. Raises BrokerSimError for an argument that it has not."""
    known = [each.name for each in fields(NewCluster)]
    for name in given:
        if name not in known:
            raise BrokerSimError(f"{name} cannot be given over HTTP control; expected {', '.join(known)}")
    shape = {name: value for name, value in given.items() if value is not None}
    topics = shape.get("topics", ())
    texts = [f"{name}:{count}" for name, count in topics.items()] if isinstance(topics, Mapping) else list(topics)
    if not all(isinstance(each, str) for each in texts):
        raise BrokerSimError(f"topics: {topics!r} cannot be given over HTTP control; expected texts such as orders:6:3")
    return {**shape, "topics": texts}


def _record(given: Mapping[str, Any]) -> StoredRecord:
    names = ("partition", "offset", "timestamp", "leader_epoch", "producer_id", "producer_epoch", "sequence")
    return StoredRecord(
        **{name: given[name] for name in names},
        key=_bytes(given["key_base64"]),
        value=_bytes(given["value_base64"]),
        headers=tuple((each["key"], _bytes(each["value_base64"])) for each in given["headers"]),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
