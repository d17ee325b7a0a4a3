"""A simulated Kafka cluster that behaves as real brokers do, on TCP or on virtual time.

    from broker_sim import ThreadedCluster

    with ThreadedCluster(brokers=3, topics=["orders:6:3"]) as cluster:
        print(cluster.bootstrap_servers)
        cluster.kill(1)

- `ThreadedCluster`: a cluster on TCP in a thread of its own; tests have it as the fixtures `kafka_cluster` and
  `kafka_cluster_factory`.
- `Cluster`: the same on a reactor of the caller's, on real or virtual time.
- `TopicSpec`: a topic with its partitions, replicas and configurations.
- `Rule`, `RuleReport`, `RuleError`: fault rules, see `docs/reference/faults.md`; `add_rule` takes mappings too.
- `StoredRecord`: a record in a log, from `ThreadedCluster.records`.
- `BrokerSimError`, `ConfigError`: the errors that callers get.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster
    from broker_sim.errors import BrokerSimError, ConfigError
    from broker_sim.faults.engine import RuleReport
    from broker_sim.faults.rule import Rule, RuleError
    from broker_sim.stored_records import StoredRecord
    from broker_sim.threaded_cluster import ThreadedCluster
    from broker_sim.topic_spec import TopicSpec

    __version__: str

__all__ = [
    "BrokerSimError",
    "Cluster",
    "ConfigError",
    "Rule",
    "RuleError",
    "RuleReport",
    "StoredRecord",
    "ThreadedCluster",
    "TopicSpec",
    "__version__",
]

_MODULES = {
    "BrokerSimError": "broker_sim.errors",
    "Cluster": "broker_sim.cluster",
    "ConfigError": "broker_sim.errors",
    "Rule": "broker_sim.faults.rule",
    "RuleError": "broker_sim.faults.rule",
    "RuleReport": "broker_sim.faults.engine",
    "StoredRecord": "broker_sim.stored_records",
    "ThreadedCluster": "broker_sim.threaded_cluster",
    "TopicSpec": "broker_sim.topic_spec",
}


def __getattr__(name: str) -> object:
    """Import a name of the API when it is first used: `broker-sim --help` and pytest start without the brokers."""
    if name == "__version__":
        from sim_runtime.version import VERSION

        return VERSION
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
