"""The context of one firing of a rule: the cluster, the reactor, and the request if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from broker_sim.faults.rule import Absent, NoEffect, OneOf, Range, RuleError
from broker_sim.faults.rule_targets import RuleTargets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IReactorTime

    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import FaultPoint
    from broker_sim.faults.link_action import WireTarget
    from broker_sim.faults.log_files import LogFiles
    from broker_sim.faults.rule import BrokerRef, Drawable
    from broker_sim.topic_spec import TopicSpec
    from protocol_specs.messages.create_acls import AclCreation


class AdminTarget(RuleTargets, Protocol):
    """The verbs of an administrator of a cluster."""

    def replicas_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first. Raises BrokerSimError for an unknown one."""

    def serves(self, broker_id: int) -> bool:
        """Return True if a broker runs, and as far as is known the controller has unfenced it."""

    def isr_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the in-sync replicas of a partition. Raises BrokerSimError for an unknown one."""

    def state_partition(self, kind: str, key: str) -> tuple[str, int]:
        """Return the partition that has the state of a group or of a transaction (`kind`), -1 while there is none."""

    def pause(self, broker_id: int) -> object:
        """Stop the process of a broker, as SIGSTOP does."""

    def resume(self, broker_id: int) -> object:
        """Continue the process of a paused broker."""

    def jump_clock(self, broker_id: int, ms: float) -> None:
        """Move the wall clock of a broker ahead, back when negative."""

    def drift_clock(self, broker_id: int, ppm: float) -> None:
        """Let the wall clock of a broker gain microseconds per second from now on."""

    def lag_metadata(self, broker_id: int, ms: float) -> None:
        """Let a broker learn of changes of the metadata so much later, from the next one on."""

    def log_files(self, broker_id: int) -> LogFiles:
        """Return the files of a broker's logs on a virtual disk."""

    def slow_fsync(self, broker_id: int, ms: float, *, topic: str | None, partition: int | None) -> None:
        """Let flushes of a broker's logs take so long, those of a topic or of a partition alone if one is named."""

    def restore_disk_speed(self, broker_id: int) -> None:
        """End the slowness of all directories of a broker."""

    def force_rebalance(self, group_id: str) -> Deferred[None]:
        """Begin a rebalance of a group, which its members have not caused."""

    def elect_leader(
        self, topic: str, partition: int, *, broker_id: int | None = None, unclean: bool = False
    ) -> Deferred[None]:
        """Elect the preferred replica of a partition, or a named one."""

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> Deferred[None]:
        """Begin to move a partition to other replicas, the preferred one first."""

    def create_topic(self, spec: TopicSpec) -> Deferred[None]:
        """Create a topic."""

    def delete_topic(self, name: str) -> Deferred[None]:
        """Delete a topic."""

    def recreate_topic(self, name: str) -> Deferred[None]:
        """Delete a topic, and create it with another id and the same partitions and configurations."""

    def add_partitions(self, topic: str, count: int) -> Deferred[None]:
        """Add partitions to a topic."""

    def delete_records(self, topic: str, partition: int, before_offset: int | None = None) -> Deferred[None]:
        """Delete the records below an offset, None for the high watermark."""

    def config_of(self, kind: str, name: str) -> Deferred[dict[str, str]]:
        """Fire with the configurations that are set on a `topic`, `broker` or `group` itself."""

    def alter_config(self, kind: str, name: str, configs: Mapping[str, str | None]) -> Deferred[None]:
        """Set configurations of a `topic`, `broker` (an empty name: all brokers) or `group`; None deletes one."""

    def upgrade(self, to: str, broker_ids: Sequence[int] | None = None) -> Deferred[None]:
        """Restart brokers, by default all, as a release, each when the one before is in sync again."""

    def finalize(self, to: str) -> Deferred[None]:
        """Set every feature to the level of a new cluster of a release."""

    def alter_quota(self, entity: Mapping[str, str | None], quotas: Mapping[str, float | None]) -> Deferred[None]:
        """Set quotas of a `user`, `client-id` or `ip` (a name of None: the default); None removes one."""

    def alter_acl(self, entry: AclCreation, *, delete: bool) -> Deferred[None]:
        """Create an access control entry, or delete it."""


class FaultTarget(Protocol):
    """The part of a cluster that the fault engine uses."""

    @property
    def journal(self) -> Journal:
        """The journal that receives the events of rules, and whose events open and close gates."""

    @property
    def active_controller(self) -> int | None:
        """The node id of the active controller, None while there is none."""

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers."""

    @property
    def controller_ids(self) -> Sequence[int]:
        """The ids of the controllers that can be killed; empty where the one controller never fails."""

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""

    @property
    def wire(self) -> WireTarget:
        """The network around the nodes."""

    def is_running(self, node_id: int) -> bool:
        """Return True if a broker's or controller's process runs."""

    def kill(self, node_id: int) -> object:
        """Kill a broker or controller: connections reset, timers gone, logs kept."""

    def restart(self, node_id: int) -> object:
        """Start a broker or controller that was killed or stopped."""

    def stop(self, broker_id: int) -> object:
        """Shut a broker down in order."""

    def rolling_restart(self, broker_ids: Sequence[int] | None = None) -> object:
        """Restart brokers one at a time, each when the one before is in sync again."""

    @property
    def admin(self) -> AdminTarget:
        """The verbs of an administrator."""

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker and lose its unflushed data."""

    def fail_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Fail a log directory with I/O errors."""

    def fill_log_dir(self, broker_id: int, log_dir: str | None = None, *, left_bytes: int = 0) -> None:
        """Leave room for `left_bytes` in a log directory."""

    def slow_log_dir(
        self,
        broker_id: int,
        log_dir: str | None = None,
        *,
        append_ms: float = 0,
        sync_ms: float = 0,
        bytes_per_second: float | None = None,
    ) -> None:
        """Make a log directory slow."""

    def mend_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Repair a log directory."""

    def leader_of(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition, None when it has none."""


class ClientTarget(Protocol):
    """The clients of a run, by their names in the scenario."""

    @property
    def client_names(self) -> Sequence[str]:
        """The names of all clients."""

    def pause_client(self, name: str) -> object:
        """Stop the process of a client: its timers stand still, its sockets accept bytes, nothing is sent."""

    def resume_client(self, name: str) -> object:
        """Continue a paused client."""

    def kill_client(self, name: str) -> object:
        """End a client at once, as SIGKILL does: its buffer is lost, its connections are reset."""

    def restart_client(self, name: str) -> object:
        """Start a client that was killed again, from the beginning of its script or load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Finds the node behind a reference in a rule."""

    cluster: FaultTarget
    point: FaultPoint | None
    victim_of: Callable[[str], int | None]
    """Returns the broker that the rule of this name has killed or stopped; raises RuleError for an unknown rule."""
    draw: Callable[[str, Range | OneOf], float]
    """Draws a number by its name."""

    def resolve(self, broker: BrokerRef, name: str = "broker") -> int:
        """Return the node behind a reference; raises RuleError when there is none now. `name` is that of a draw."""
        return broker if isinstance(broker, int) else broker.resolve(self, name)

    def draw_broker(self, candidates: Sequence[int], name: str, wanted: str) -> int:
        """Return one of some brokers that runs. Raises Absent when none does."""
        running = tuple(each for each in candidates if self.cluster.is_running(each))
        if not running:
            raise Absent((name,), f"no {wanted} is running")
        return int(self.draw(name, OneOf(running)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing(Resolver):
    """One firing of one rule: the argument of `Action.fire`."""

    clients: ClientTarget | None
    """The clients of the run, for actions that need them."""
    reactor: IReactorTime
    ends: bool
    """True if the rule has an `until`: an effect that lasts ends there."""
    hold: Callable[[], Deferred[None]]
    """Returns a Deferred that fires when the rule is released."""
    record_victim: Callable[[int], None]
    """Remembers the broker that was killed or stopped, for `killed by RULE`."""
    soon: Callable[[Callable[[], object]], None]
    """Calls a function in the next loop iteration, never while the triggering request is served. An error of it, also
    a late one of a Deferred that it returns, becomes the problem of the rule."""
    at_end: Callable[[Callable[[], object]], None]
    """Calls a function when the rule closes, by its `until` or at the end of the run."""
    report_problem: Callable[[str], None]
    """Reports why the rule could not do its work, for an action that finds out after it has fired."""

    def apply(self, change: Callable[[], object], undo: Callable[[], object]) -> None:
        """Call `change` in the next loop iteration, and `undo` when the rule closes if it has an `until`."""
        self.soon(change)
        if self.ends:
            self.at_end(undo)

    def running(self, broker: BrokerRef) -> int:
        """Return the node behind a reference. Raises NoEffect when it is not running, RuleError when there is none."""
        node_id = self.resolve(broker)
        if not self.cluster.is_running(node_id):
            raise NoEffect(f"{describe_node(node_id, self.cluster.controller_ids)} is not running")
        return node_id

    def client_target(self, name: str) -> ClientTarget:
        """Return the clients of the run. Raises RuleError when there is none of this name."""
        known = () if self.clients is None else self.clients.client_names
        if self.clients is None or name not in known:
            raise RuleError(("client",), f"there is no client {name!r}: they are {', '.join(known) or 'none'}")
        return self.clients

    def number(self, name: str, value: Drawable) -> float:
        """Return a number of the action, drawn by the random stream of the rule where it is a range or a choice."""
        return self.draw(name, value) if isinstance(value, Range | OneOf) else value

    def whole(self, name: str, value: Drawable) -> int:
        """Return a whole number of the action in the same way."""
        return int(self.number(name, value))


def describe_node(node_id: int, controller_ids: Collection[int]) -> str:
    """Return `broker 1` or `controller 3000`."""
    return f"{'controller' if node_id in controller_ids else 'broker'} {node_id}"
