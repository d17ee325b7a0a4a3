"""The tests of `broker_sim/ROOM/MODULE.py` are in `tests/broker_sim/ROOM/test_MODULE.py`.

The cases of a handler are in `tests/differential/cases/MODULE.py`, and may be its only tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "broker_sim"
TESTS: Final = ROOT / "tests" / "broker_sim"
CASES: Final = ROOT / "tests" / "differential" / "cases"

TESTS_OF_SEVERAL_MODULES: Final = {
    "apis/test_cluster_apis.py": "the handlers of the cluster and its quorum, on several brokers",
    "apis/test_log_dirs.py": "DescribeLogDirs and AlterReplicaLogDirs",
    "apis/test_marker_rules.py": "fault rules on the markers that brokers send",
    "apis/test_partition_apis.py": "the handlers of partitions, with a controller out of reach",
    "apis/test_transaction_events.py": "the journal of transactional requests",
    "apis/test_transactional_reads.py": "transactions as Fetch, ListOffsets and DescribeProducers show them",
    "config/test_release_formats.py": "the record formats of each release",
    "config/test_release_serve.py": "`broker-sim serve --release`",
    "config/test_release_topics.py": "the topic configurations of each release",
    "config/test_release_versions.py": "the API versions of each release",
    "config/test_start_configs.py": "configurations with which no broker starts, as in Java",
    "controller/group/test_served_controllers.py": "controllers on TCP",
    "coordinators/groups/classic/test_group_machine.py": "Hypothesis: members of a group, and coordinators that move",
    "coordinators/transactions/test_transaction_machine.py": "Hypothesis: transactional producers",
    "defects/test_other_causes.py": "anomalies whose cause is a release, a configuration or a rule",
    "faults/test_disk_actions.py": "fault actions on disks",
    "coordinators/groups/consumer/test_consumer_group_machine.py": "Hypothesis: members of a consumer group",
    "coordinators/transactions/test_late_requests.py": "the anomalies of transactions v1 (KAFKA-17754, KIP-890)",
    "coordinators/groups/streams/test_streams_machine.py": "Hypothesis: members of a streams group",
    "http_control/test_how_to.py": "docs/how-to/control-over-http.md",
    "log/files/test_formats.py": "the small files, byte for byte",
    "log/files/test_recovery_machine.py": "Hypothesis: crashes of a log on disk",
    "log/files/test_transactions_machine.py": "Hypothesis: transactions of a log on disk, with crashes",
    "log/test_replica_log_machine.py": "Hypothesis: a log and a list of records",
    "log/test_truncated_producers.py": "the producer state of a log in memory and on disk, after truncations",
    "metrics/test_cluster_metrics.py": "the metrics of a whole cluster",
    "metrics/test_purgatory_metrics.py": "the purgatories' metrics",
    "network/test_fault_stage.py": "fault rules at each phase of a request on TCP",
    "network/test_thread_models.py": "the benchmark of both thread models",
    "quorum/test_quorum_machine.py": "Hypothesis: voters and their links",
    "quorum/test_snapshots.py": "snapshots, from the leader's log to a follower",
    "replication/test_crossing_the_network.py": "replication over the simulated network",
    "replication/test_replication_machine.py": "Hypothesis: brokers and their links",
    "replication/test_throttled_replication.py": "replication quotas on three brokers",
    "share_partitions/test_share_machine.py": "Hypothesis: members of a share group, leaders that move",
    "test_cluster_on_disk.py": "a cluster with a data directory",
    "test_front_door.py": "the names of `broker_sim` itself",
    "test_metadata_on_disk.py": "the metadata log in a data directory",
    "test_sasl_how_to.py": "docs/how-to/use-sasl.md",
    "test_tls_how_to.py": "docs/how-to/use-tls.md",
    "zookeeper/test_after_trouble.py": "ZooKeeper mode after faults",
    "zookeeper/test_delayed_and_throttled.py": "ZooKeeper mode with slow links and quotas",
    "zookeeper/test_races.py": "ZooKeeper mode: events in either order",
    "zookeeper/test_recorded_wire.py": "requests of a real controller of each age",
    "zookeeper/test_zookeeper_clusters.py": "ZooKeeper mode from the outside",
}
"""Test file -> its subject, for tests that belong to no single module."""

WITHOUT_OWN_TESTS: Final = Path(__file__).with_name("modules_without_own_tests.txt")
"""Modules that only the tests of other modules run, one per line. The list only shrinks."""


def _files(folder: Path, pattern: str) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob(pattern) if path.name != "__init__.py"}


def _has_own_tests(module: Path) -> bool:
    is_handler = module.parts[0] == "apis"
    return (TESTS / module.with_name(f"test_{module.name}")).exists() or (is_handler and (CASES / module.name).exists())


def test_a_test_file_is_named_after_its_module() -> None:
    modules = _files(PACKAGE, "*.py")
    others = {
        str(test)
        for test in _files(TESTS, "test_*.py")
        if test.with_name(test.name.removeprefix("test_")) not in modules
    }
    assert others == TESTS_OF_SEVERAL_MODULES.keys()


def test_a_module_has_tests_of_its_name() -> None:
    missing = {str(module) for module in _files(PACKAGE, "*.py") if not _has_own_tests(module)}
    listed = WITHOUT_OWN_TESTS.read_text().splitlines()
    assert sorted(missing.difference(listed)) == [], "write their tests"
    assert sorted({*listed} - missing) == [], f"delete these lines of {WITHOUT_OWN_TESTS.name}"
