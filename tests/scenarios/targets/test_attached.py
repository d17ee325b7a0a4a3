from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.consumer import Consumer
from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.records import TopicPartition
from broker_scenarios.cli import main
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.targets.attached_checks import problem_of
from broker_scenarios.targets.started_kafka import KafkaClusters
from broker_scenarios.targets.upstream import Upstream
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"
PAIR = """
title: t
RELEASE
cluster: {brokers: BROKERS, DEFECTS, CONFIG}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {enable.idempotence: false, linger.ms: 0}, script: [SCRIPT {send: {count: 3, wait: true}}, close]}
  service:
    producer: {transactional.id: t}
    script: [init, begin, {send: 2}, flush, abort, begin, {send: 1}, commit, close]
rules: {lose: {select: {api: Produce, nth: 2, client: app}, phase: before_response, act: disconnect}, MORE}
expect: {duplicate: 1, lost: 0, outcome: {ok: 4, fail: 2}, EXPECT}
flip: {why: w, clients: {app: {producer: {enable.idempotence: true}}}, expect: {duplicate: 0, outcome: {ok: 4}}}
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a cluster that does not come a second."""
    assert Upstream.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Upstream.__init__.__kwdefaults__, "patience_s", 1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["bills:1:1"], quick_groups=True, config={
        "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
    }) as threaded:  # fmt: skip
        yield threaded


def pair(
    *,
    defects: str = "",
    more: str = "",
    expect: str = "",
    script: str = "",
    config: str = "",
    release: str = "",
    brokers: int = 1,
) -> str:
    text = PAIR.replace(", DEFECTS", defects).replace(", MORE", more).replace("SCRIPT ", script)
    text = text.replace(", EXPECT", expect).replace(", CONFIG", config)
    return text.replace("RELEASE", release).replace("BROKERS", str(brokers))


def run(cluster: ThreadedCluster, folder: Path, *options: str, **parts: Any) -> int:
    path = folder / "case.yaml"
    path.write_text(pair(**parts))
    address = cluster.bootstrap_servers.partition(",")[0]
    return main(["run", str(path), "--attach", address, *options, "--report", str(folder / "report.html")])


def test_a_pair_runs_on_a_running_cluster_and_leaves_nothing_there(cluster: ThreadedCluster, tmp_path: Path) -> None:
    assert run(cluster, tmp_path) == 0
    assert "orders" not in cluster.call(lambda: cluster.cluster.partition_counts)


GROUP = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {linger.ms: 0}, script: [{send: {count: 3, wait: true}}, close]}
  reader:
    consumer: {group.id: g, auto.offset.reset: earliest}
    script: [{wait: {client: app}}, {subscribe: [orders]}, {poll: 3}, commit_offsets, crash]
expect: {unseen: 0}
"""


def test_a_group_with_a_member_that_crashed_is_gone_with_the_run(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "group.yaml"
    path.write_text(GROUP)
    command = ["run", str(path), "--attach", cluster.bootstrap_servers, "--report", str(tmp_path / "report.html")]
    assert [main(command), main(command)] == [0, 0]
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.commit({TopicPartition("bills", 0): OffsetAndMetadata(offset=1)})
    capsys.readouterr()
    assert main(command) == 2
    assert "the group 'g' of group exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"defects": ", defects: [dedup-none]"}, "a running cluster cannot be given defects (dedup-none)"),
        (
            {"expect": ", measures: {ids: {measure: highest_metric, metric: ProducerIdCount, is: 1}}"},
            "ids: the metrics of a running cluster are not read",
        ),
        ({"more": ", crash: {when: {acked_records: 1}, act: {kill: 1}}"}, "kill"),
        ({"more": ", slow: {act: {lag_metadata: {broker: 1, ms: 5}}}"}, "lag_metadata needs a simulated cluster"),
        (
            {"more": ", late: {select: {replica: any, api: Fetch}, act: hold}"},
            "does not see the requests between brokers",
        ),
        ({"more": ", cut: {act: {hold_link: {from: 1, to: controllers}}}"}, "does not see the links between brokers"),
        ({"script": "{wait: {event: {kind: BrokerFenced}}}, "}, "a proxy does not see BrokerFenced"),
        (
            {"more": ", at: {when: {event: {kind: TopicCreated}}, act: {refuse: 1}}"},
            "does not see TopicCreated",
        ),
        ({"script": "{act: {pause: 1}}, "}, "clients.app: act: pause needs broker processes"),
        ({"config": ", certificates: {broker: {}}"}, "cluster.certificates: a proxy does not read what TLS encrypts"),
        (
            {"config": ", config: {listeners: 'PLAINTEXT://:0,SASL_PLAINTEXT://:0'}"},
            "cluster.config.listeners: a cluster that runs already keeps its listeners",
        ),
        ({"config": ", config: {num.io.threads: 9}"}, "its cluster has num.io.threads=9; broker 1 has 8"),
        ({"config": ", config: {thread.model: pipelined}"}, "thread.model is a configuration of the simulator"),
        ({"release": "release: 3.7.2"}, "it is about release 3.7.2"),
        ({"release": "only_simulated: it is a secret"}, "only a simulated cluster shows it: it is a secret"),
        ({"release": "only_virtual: it is a secret"}, "only virtual time shows it: it is a secret"),
        ({"brokers": 2}, "it has 1 broker, case needs 2"),
        (
            {"config": ", features: {transaction.version: 1}"},
            "the levels of features of a running cluster are not set",
        ),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_what_a_running_cluster_cannot_do_is_refused_by_name(
    cluster: ThreadedCluster,
    tmp_path: Path,
    parts: dict[str, Any],
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(cluster, tmp_path, **parts) == 2
    assert problem in capsys.readouterr().err
    assert "orders" not in cluster.call(lambda: cluster.cluster.partition_counts)


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        (
            "3.7.2",
            "topics.orders: controllers of 3.7.2 ignore unclean.leader.election.enable (KAFKA-12670)",
        ),
        ("3.9.1", None),
        ("99.0.0", None),
        (None, None),
    ],
)
def test_a_configuration_without_effect_in_the_release_is_refused(release: str | None, problem: str | None) -> None:
    assert problem_of(load_scenario(CATALOG / "unclean-election-loss.yaml"), release) == problem


@pytest.mark.usefixtures("impatient")
def test_an_address_where_nothing_listens_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(pair())
    assert main(["run", str(path), "--attach", "127.0.0.1:1"]) == 2
    assert "cannot connect" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", str(path), "--attach", "nowhere"])
    assert "expected HOST:PORT" in capsys.readouterr().err


def test_a_pair_with_quotas_shares_no_cluster() -> None:
    throttled = load_scenario(CATALOG / "client-ignores-throttle-time.yaml")
    quiet = load_scenario(CATALOG / "lost-ack-duplicate.yaml")
    assert len({KafkaClusters.shape_of(side) for side in throttled.sides()}) == 2
    assert len({KafkaClusters.shape_of(side) for side in quiet.sides()}) == 1


LONG = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {linger.ms: 0}, script: [{send: {wait: true}}, {wait: {rule: never}}, {send: 1}, flush, close]}
rules: {never: {when: {acked_records: 100}, act: {add_partitions: orders}, optional: true}}
expect: {lost: 0}
flip: {why: w, clients: {app: {producer: {linger.ms: 1}}}, expect: {lost: 0}}
"""


@pytest.mark.usefixtures("impatient")
def test_a_cluster_that_is_gone_ends_the_run_and_the_catalogue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(LONG)
    results = tmp_path / "results.json"
    with ThreadedCluster(brokers=1) as threaded:
        address = threaded.bootstrap_servers
        threaded.add_rule({"name": "sent", "select": {"api": "Produce", "nth": 1}, "act": "observe"})

        def close_after_the_first_record() -> None:
            threaded.wait_for_rule("sent", timeout_s=30)
            threaded.close()

        closing = Thread(target=close_after_the_first_record)
        closing.start()
        command = ["catalog", "run", "--attach", address, "--folder", str(tmp_path), "--json", str(results)]
        assert main(command) == 2
        closing.join()
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "FAILED  one"
    assert f"{address}: the cluster is gone amid the run: no broker has responded for " in printed.out
    assert "0 of 1 anomalies are shown, and gone in the flip, on a running cluster; 1 failed with" in printed.out
    assert printed.err.splitlines()[-1] == (
        f"--attach {address}: cannot connect: Connection refused; the cluster is gone, and 1 pair did not run"
    )
    found = json.loads(results.read_text())
    assert (found["refused"], found["failed"], found["results"]["one"]["state"]) == (0, 1, "failed")


def test_a_pair_that_is_made_for_fewer_brokers_reports_it_with_its_misses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "title: t\ncluster: {brokers: 1}\ntopics: {orders: {partitions: 1, replication_factor: 1}}\n"
    text += (
        "clients: {app: {producer: {linger.ms: 0}, script: [{send: 1}, flush, close]}}\nexpect: {outcome: {ok: 2}}\n"
    )
    (tmp_path / "one.yaml").write_text(text + "flip: {why: w, expect: {outcome: {ok: 1}}}")
    with ThreadedCluster(brokers=2) as threaded:
        address = threaded.bootstrap_servers.partition(",")[0]
        assert main(["catalog", "run", "--attach", address, "--folder", str(tmp_path)]) == 1
    assert "one is made for 1 broker, the cluster has 2: its rules and counts may not fit" in capsys.readouterr().out
