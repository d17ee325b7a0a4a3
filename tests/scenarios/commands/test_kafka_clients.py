"""`broker-sim topics`, `produce`, `consume`, `groups` and `records` against a cluster on TCP."""

from __future__ import annotations

import io
import json
import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.admin import Admin, AlterConfigOp, ConfigResource
from broker_client.consumer import Consumer
from broker_client.producer import Producer
from broker_client.share_consumer import ShareConsumer
from broker_scenarios.cli import main
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.served_cluster import command as served
from tests.interop.served_cluster import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Output = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    config = {
        "group.initial.rebalance.delay.ms": 0,
        "group.share.heartbeat.interval.ms": 100,
        "group.share.min.heartbeat.interval.ms": 100,
    }
    with ThreadedCluster(brokers=1, config=config) as running:
        yield running


@pytest.fixture
def topic(cluster: ThreadedCluster, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A topic of the test's own, with two partitions; commands find the cluster in the environment."""
    monkeypatch.setenv("BOOTSTRAP_SERVERS", cluster.bootstrap_servers)
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    assert main(["topics", "create", name, "--partitions", "2", "-c", "retention.ms=777000"]) == 0
    return name


def produce(monkeypatch: pytest.MonkeyPatch, lines: bytes, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    return main(["produce", *arguments])


def printed(capfdbinary: Output) -> tuple[bytes, str]:
    out, err = capfdbinary.readouterr()
    return out, err.decode()


def objects(capfdbinary: Output) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]


def test_topics_are_created_listed_described_and_deleted(topic: str, capfdbinary: Output) -> None:
    assert main(["topics", "create", f"{topic}-2"]) == 0
    assert printed(capfdbinary) == (f"created {topic}-2: 1 partition, 1 replica\n".encode(), "")
    assert main(["topics", "list"]) == 0
    rows = [line.split() for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert rows[0] == ["topic", "partitions", "replicas"]
    assert [topic, "2", "1"] in rows
    assert main(["topics", "describe", topic]) == 0
    head, *configs, _, first, second = capfdbinary.readouterr().out.decode().splitlines()
    assert head.startswith(f"{topic}: topic id ")
    assert "  retention.ms=777000" in configs
    assert [line.split()[-2:] for line in (first, second)] == [["0", "0"], ["0", "0"]]
    assert main(["topics", "describe", topic, "--json"]) == 0
    [described] = objects(capfdbinary)
    assert [each["leader"] for each in described["partitions"]] == [1, 1]
    assert main(["topics", "create", topic]) == 1
    assert printed(capfdbinary)[1] == f"{topic}: TOPIC_ALREADY_EXISTS: Topic '{topic}' already exists.\n"
    assert main(["topics", "delete", topic]) == 0
    assert main(["topics", "list", "--json"]) == 0
    _, *listed = capfdbinary.readouterr().out.splitlines()
    assert topic not in [json.loads(line)["topic"] for line in listed]


def test_lines_are_records_with_keys_headers_and_tombstones(
    topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    capfdbinary.readouterr()
    options = ["-t", topic, "-p", "1", "-K", "::", "-Z", "-H", "trace=7", "-z", "gzip", "--json"]
    assert produce(monkeypatch, b"a::1\nb::2::3\na::", *options) == 0
    out, err = printed(capfdbinary)
    assert [json.loads(line) for line in out.splitlines()] == [
        {"topic": topic, "partition": 1, "offset": offset} for offset in range(3)
    ]
    assert err == "3 records delivered\n"
    assert main(["consume", "-t", topic, "-e", "-f", "%p@%o %k=%s [%h] %K %S %%\\t|\\n"]) == 0
    assert printed(capfdbinary)[0] == (
        b"1@0 a=1 [trace=7] 1 1 %\t|\n1@1 b=2::3 [trace=7] 1 4 %\t|\n1@2 a= [trace=7] 1 -1 %\t|\n"
    )
    assert produce(monkeypatch, b"no delimiter\n", "-t", topic, "-K", "::") == 2
    assert printed(capfdbinary)[1] == "line 1 of standard input has no '::' (-K)\n"


def test_bytes_that_are_no_text_are_base64_in_json(
    topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    assert produce(monkeypatch, b"\xff\xfe\n", "-t", topic, "-k", "k", "--acks", "1") == 0
    capfdbinary.readouterr()
    assert main(["consume", "-t", topic, "-e", "--json"]) == 0
    [record] = objects(capfdbinary)
    assert (record["key"], record["value"], record["value_base64"]) == ("k", None, "//4=")


def test_offsets_choose_the_start(topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output) -> None:
    assert produce(monkeypatch, b"0\n1\n2\n3\n4\n", "-t", topic, "-p", "0") == 0
    capfdbinary.readouterr()
    chosen = {
        "beginning": "01234",
        "end": "",
        "3": "34",
        "99": "",
        "-2": "34",
        "-99": "01234",
        "@0": "01234",
        "s@0": "01234",
        "@2999-01-01T00:00:00+00:00": "",
    }
    for offset, values in chosen.items():
        assert main(["records", topic, "-p", "0", "-o", offset, "--json"]) == 0
        assert "".join(each["value"] for each in objects(capfdbinary)) == values, offset
    assert main(["consume", "-t", topic, "-p", "0", "-o", "-2", "-e", "-f", "%s"]) == 0
    assert printed(capfdbinary) == (b"34", "")


def test_waits_have_a_deadline_that_names_its_option(topic: str, capfdbinary: Output) -> None:
    capfdbinary.readouterr()
    command = ["consume", "-t", topic, "--timeout", "0.1", "-X", "default.api.timeout.ms=30000"]
    assert main([*command, "-c", "3"]) == 1
    waited = f"topic '{topic}': no record came for 0.1 s (--timeout)"
    assert printed(capfdbinary)[1] == f"{waited}: 0 were read, -c requests 3\n"
    assert main(command) == 0
    assert printed(capfdbinary)[1] == f"{waited}\n"
    assert main(["topics", "list", "-b", "127.0.0.1:1", "--timeout", "0.1"]) == 1
    assert printed(capfdbinary)[1].endswith("; --timeout allows longer\n")


def test_a_group_commits_what_was_printed_and_its_offsets_are_reset(
    topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    assert produce(monkeypatch, b"a\nb\nc\n", "-t", topic, "-p", "0") == 0
    capfdbinary.readouterr()
    group = f"group-of-{topic}"
    assert main(["consume", "-t", topic, "-G", group, "-c", "2"]) == 0
    assert printed(capfdbinary)[0] == b"a\nb\n"
    assert main(["groups", "list"]) == 0
    assert [group, "consumer", "Classic", "Empty"] in [
        line.split() for line in capfdbinary.readouterr().out.decode().splitlines()
    ]
    assert main(["groups", "describe", group, "--json"]) == 0
    [described] = objects(capfdbinary)
    assert [(each["committed"], each["end"], each["lag"]) for each in described["partitions"]] == [(2, 3, 1)]
    assert main(["groups", "describe", group]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == f"{group}: Classic, Empty, coordinator 1, 0 members"
    assert lines[-1].split() == [topic, "0", "2", "3", "1", "none"]
    assert main(["groups", "reset", group, "-t", topic, "-o", "1", "--dry-run"]) == 0
    assert main(["groups", "reset", group, "-t", topic, "-p", "0", "-o", "-1"]) == 0
    capfdbinary.readouterr()
    assert main(["consume", "-t", topic, "-G", group, "-e"]) == 0
    assert printed(capfdbinary)[0] == b"c\n"
    assert main(["groups", "delete", group]) == 0
    capfdbinary.readouterr()
    assert main(["groups", "delete", group]) == 1
    assert printed(capfdbinary)[1] == f"{group}: GROUP_ID_NOT_FOUND\n"


def test_offsets_of_a_group_with_members_are_not_reset(
    cluster: ThreadedCluster, topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    assert produce(monkeypatch, b"a\n", "-t", topic, "-p", "0") == 0
    servers, group = cluster.bootstrap_servers, f"busy-{topic}"
    with Consumer(bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic])
        assert len(consumer.poll(20)) == 1
        capfdbinary.readouterr()
        assert main(["groups", "reset", group, "-t", topic, "-o", "end"]) == 1
    assert printed(capfdbinary)[1].startswith(f"group '{group}' has members: its offsets can be reset when they")


def test_a_share_group_is_described_with_its_start_offsets(
    cluster: ThreadedCluster, topic: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    assert produce(monkeypatch, b"a\nb\n", "-t", topic, "-p", "1") == 0
    group = f"share-of-{topic}"
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        earliest = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
        admin.incremental_alter_configs({ConfigResource.group(group): [earliest]})
    with ShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=group, client_id="sharer") as consumer:
        consumer.subscribe([topic])
        assert len(consumer.poll(20)) == 2
        capfdbinary.readouterr()
        assert main(["groups", "describe", group, "--json"]) == 0
    [described] = objects(capfdbinary)
    assert (described["type"], described["state"], len(described["members"])) == ("Share", "Stable", 1)
    assert {each["partition"]: each["clients"] for each in described["partitions"]} == {0: ["sharer"], 1: ["sharer"]}


def test_records_are_what_the_log_holds(cluster: ThreadedCluster, topic: str, capfdbinary: Output) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"kept", b"k", 0, [("h", b"1"), ("none", None)])
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send(topic, None, None, 0)
        producer.flush()
        producer.abort_transaction()
    capfdbinary.readouterr()
    assert main(["records", topic, "--json"]) == 0
    records = objects(capfdbinary)
    assert [(each["offset"], each["value"], each["control"]) for each in records] == [
        (0, "kept", None),
        (1, None, "COMMIT"),
        (2, None, None),
        (3, None, "ABORT"),
    ]
    assert {each["producer_id"] for each in records} == {records[0]["producer_id"]}
    assert [each["sequence"] for each in records][:2] == [0, -1]
    assert all(each["transactional"] for each in records)
    assert main(["records", topic, "-o", "0", "-c", "2"]) == 0
    kept, commit = capfdbinary.readouterr().out.decode().splitlines()
    assert kept.startswith(f"{topic}-0  0  ")
    assert "  key='k'  value='kept'  h:'1'  none:null  producer " in kept
    assert kept.endswith("  transactional")
    assert "  COMMIT  producer " in commit
    assert main(["consume", "-t", topic, "-e"]) == 0
    assert printed(capfdbinary)[0] == b"kept\n"
    assert main(["consume", "-t", topic, "-e", "--isolation", "read_uncommitted"]) == 0
    assert printed(capfdbinary)[0] == b"kept\n\n"


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["topics", "list", "-X", "oops"], "-X 'oops' is not KEY=VALUE"),
        (["topics", "list", "-X", "securty.protocol=SSL"], "-X securty.protocol: unknown configuration; did you mean"),
        (
            ["topics", "list", "-X", "ssl.ca.location=x"],
            "-X ssl.ca.location: unknown configuration: librdkafka's name: use",
        ),
        (
            ["topics", "list", "-X", "sasl.password=secret"],
            "-X sasl.password: unknown configuration: librdkafka's name: use sasl.jaas.config",
        ),
        (["topics", "list", "-X", "security.protocol=SASL_SSL"], "sasl.mechanism='GSSAPI' is refused"),
        (
            ["topics", "list", "-F", "nowhere.properties"],
            "cannot read nowhere.properties (-F): No such file",
        ),
        (["topics", "create", "x", "-c", "oops"], "-c 'oops' is not KEY=VALUE"),
        (["produce", "-t", "x", "-H", "oops"], "-H 'oops' is not NAME=VALUE"),
        (["consume", "-t", "x", "-f", "%q"], "-f '%q': %q is not known; expected %t"),
        (["consume", "-t", "x", "-G", "g", "-o", "5"], "-o: a group starts at its committed offsets"),
        (["consume", "-t", "x", "-G", "g", "-p", "0"], "-p: the group assigns the partitions"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(
    command: list[str], named: str, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "-b", cluster.bootstrap_servers]) == 2
    err = capsys.readouterr().err
    assert named in err
    assert err.count("\n") == 1


def test_a_file_has_the_configurations_of_several_clients(
    topic: str, cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Output
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        f"# all of them\nbootstrap.servers = {cluster.bootstrap_servers}\nclient.id=of-file\n\n"
        "batch.size=100\nfetch.max.wait.ms=10\n"
    )
    monkeypatch.delenv("BOOTSTRAP_SERVERS")
    file = ("-F", str(path))
    assert produce(monkeypatch, b"one\n", "-t", topic, *file) == 0
    assert main(["consume", "-t", topic, "-e", "-X", "client.id=of-option", *file]) == 0
    assert main(["topics", "list", *file]) == 0
    clients = [(each.api, each.client_id) for each in cluster.requests() if each.client_id]
    assert {("Produce", "of-file"), ("Fetch", "of-option"), ("Metadata", "of-file")} <= set(clients)
    capfdbinary.readouterr()
    path.write_text("client.id=a\nlinger.msec=5\n")
    assert main(["topics", "list", *file]) == 2
    expected = f"{path}:2: linger.msec: unknown configuration; did you mean 'linger.ms'?\n"
    assert printed(capfdbinary)[1] == expected


def test_a_partition_that_is_not_there_is_named_with_those_that_are(topic: str, capfdbinary: Output) -> None:
    capfdbinary.readouterr()
    assert main(["records", topic, "-p", "2"]) == 2
    assert printed(capfdbinary)[1] == f"-p 2: topic '{topic}' has the partitions 0 to 1\n"


def test_a_cluster_must_be_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("BOOTSTRAP_SERVERS", raising=False)
    assert main(["topics", "list"]) == 2
    assert capsys.readouterr().err.startswith(
        "no cluster is named: expected -b HOST:PORT, bootstrap.servers in the file"
    )


@pytest.mark.parametrize("text", ["soon", "@soon", "", "-", "--1", "1.5"])
def test_an_offset_that_cannot_be_read_names_the_forms(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["consume", "-t", "x", f"--offset={text}"])
    assert "expected beginning, end, an offset, -N" in capsys.readouterr().err


def test_a_reader_that_closes_the_pipe_ends_the_command(
    cluster: ThreadedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert produce(monkeypatch, b"x" * 100_000 + b"\n", "-t", topic) == 0
    run = subprocess.run(
        served("consume", "-b", cluster.bootstrap_servers, "-t", topic, "-e"),
        stdout=closed_pipe(),
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, b"")


def closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_old_brokers_are_read_without_what_they_lack(monkeypatch: pytest.MonkeyPatch, capfdbinary: Output) -> None:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], release="0.9.0") as old:
        monkeypatch.setenv("BOOTSTRAP_SERVERS", old.bootstrap_servers)
        assert produce(monkeypatch, b"old\n", "-t", "orders", "-X", "enable.idempotence=false") == 0
        capfdbinary.readouterr()
        assert main(["topics", "describe", "orders"]) == 0
        assert b"  configurations: not described by brokers before 0.11\n" in printed(capfdbinary)[0]
        assert main(["records", "orders"]) == 0
        assert printed(capfdbinary)[0] == b"orders-0  0  no time  key=null  value='old'\n"
        assert main(["consume", "-t", "orders", "-e"]) == 2
        assert printed(capfdbinary)[1].endswith("; --isolation read_uncommitted reads older brokers\n")
