"""The verbs of an administrator and of a machine room, for callers that block: those of fault rules and HTTP control.

The words are those of the actions of fault rules; `do` does any of them in its written form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from broker_sim.argument_checks import checks_arguments
from broker_sim.faults.grammar import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.cluster import Cluster
    from broker_sim.faults.engine import RuleReport

__all__ = ["ActionVerbs", "ClusterVerbs"]

__tracebackhide__ = True


@checks_arguments
class ActionVerbs(ABC):
    """Verbs on top of `do`, which does an action of fault rules: a cluster in another process has them too."""

    @abstractmethod
    def do(self, act: str | Mapping[str, Any]) -> str:
        """Do an action of fault rules on the cluster now; returns the name of its rule."""

    def fail_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Fail a log directory, by default the last: its replicas go offline (KIP-112). The first ends its broker."""
        self.do({"fail_log_dir": _given(broker=broker_id, log_dir=log_dir)})

    def mend_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """End the failure of a log directory; its replicas come back when the broker restarts."""
        self.do({"mend_log_dir": _given(broker=broker_id, log_dir=log_dir)})

    def slow_fsync(self, broker_id: int, ms: float, *, topic: str | None = None, partition: int | None = None) -> None:
        """Let flushes of a broker's logs take `ms`, those of a topic or partition alone if named."""
        self.do({"slow_fsync": _given(broker=broker_id, ms=ms, topic=topic, partition=partition)})

    def alter_config(
        self,
        config: Mapping[str, str | int | bool | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
        all_brokers: bool | None = None,
        group: str | None = None,
    ) -> None:
        """Set configurations of a topic, a broker, all brokers or a group; None removes one."""
        of = _given(topic=topic, broker=broker, all_brokers=all_brokers, group=group)
        self.do({"alter_config": {"config": dict(config), **of}})


@checks_arguments
class ClusterVerbs(ActionVerbs):
    """Verbs on top of `call`, which runs a function in the cluster's thread.

    Each raises BrokerSimError for a node, topic or partition that is not there, and for what is impossible.
    """

    cluster: Cluster
    call: Callable[..., Any]

    def do(self, act: str | Mapping[str, Any]) -> str:
        """Do an action of fault rules on the cluster now, in its written form: `do({"lag_metadata": {...}})`.

        Waits until it is done; returns the name of its rule, whose removal ends an effect that lasts.

        Raises:
            RuleError: the action is invalid, or acts on requests: `add_rule` adds it as a rule.
            BrokerSimError: the action is impossible or has had no effect.
        """

        def begin() -> Any:
            faults = self.cluster.faults
            return faults.do(parse_rule({"act": act}, default_name=faults.free_name()))

        name: str = self.call(begin)
        return name

    # Clocks and disks of brokers.

    def jump_clock(self, broker_id: int, ms: float) -> None:
        """Move the wall clock of a broker ahead by so many milliseconds, back when negative."""
        self.call(lambda: self.cluster.admin.jump_clock(broker_id, ms))

    def drift_clock(self, broker_id: int, ppm: float) -> None:
        """Let the wall clock of a broker gain so many microseconds per second from now on."""
        self.call(lambda: self.cluster.admin.drift_clock(broker_id, ppm))

    # Users.

    def create_scram_user(
        self, user: str, password: str, *, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096
    ) -> None:
        """Set the password of a user for SCRAM, and wait until every running broker has applied it.

        `mechanism` is `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        """
        self.call(
            lambda: self.cluster.admin.create_scram_user(user, password, mechanism=mechanism, iterations=iterations)
        )

    def delete_scram_user(self, user: str, *, mechanism: str = "SCRAM-SHA-256") -> None:
        """Delete the password of a user for a mechanism, and wait until every running broker has applied it."""
        self.call(lambda: self.cluster.admin.delete_scram_user(user, mechanism=mechanism))

    # Topics, partitions and groups.

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, and wait until every running broker has applied it."""
        self.call(lambda: self.cluster.admin.delete_topic(topic))

    def recreate_topic(self, topic: str) -> None:
        """Delete a topic, and create it with another id and the same partitions and configurations."""
        self.call(lambda: self.cluster.admin.recreate_topic(topic))

    def add_partitions(self, topic: str, count: int = 1) -> None:
        """Add partitions to a topic."""
        self.call(lambda: self.cluster.admin.add_partitions(topic, count))

    def elect_leader(
        self, topic: str, partition: int = 0, *, broker_id: int | None = None, unclean: bool = False
    ) -> None:
        """Elect the preferred replica of a partition, or a named one; `unclean` permits one that is not in the ISR."""
        self.call(lambda: self.cluster.admin.elect_leader(topic, partition, broker_id=broker_id, unclean=unclean))

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Begin to move a partition to other replicas, the preferred one first (KIP-455)."""
        self.call(lambda: self.cluster.admin.reassign(topic, partition, replicas))

    def delete_records(self, topic: str, partition: int = 0, before_offset: int | None = None) -> None:
        """Delete the records below an offset, by default the high watermark (KIP-107)."""
        self.call(lambda: self.cluster.admin.delete_records(topic, partition, before_offset))

    def delete_group(self, group_id: str) -> None:
        """Delete a group without members, and its offsets (KIP-229)."""
        self.call(lambda: self.cluster.admin.delete_group(group_id))

    def force_rebalance(self, group_id: str) -> None:
        """Begin a rebalance of a group, which its members have not caused."""
        self.call(lambda: self.cluster.admin.force_rebalance(group_id))

    def remove_rules(self) -> list[RuleReport]:
        """Remove every rule; the requests that they hold go on. Returns their reports."""

        def remove() -> list[RuleReport]:
            faults = self.cluster.faults
            return [faults.remove(report.name) for report in faults.reports()]

        reports: list[RuleReport] = self.call(remove)
        return reports


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
