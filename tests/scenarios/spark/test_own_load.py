"""`broker-sim run --spark --load`: the producers of a scenario send a user's records under the rules of its file."""

import json
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_client import Admin, Producer
from broker_scenarios.cli import main
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.sasl.jaas import LOGIN_MODULES

SCENARIO = """title: A lost response
cluster: {brokers: 1}
topics: {orders: {partitions: 2, replication_factor: 1}}
producer: {enable.idempotence: false}
load: {topic: orders, records: 9000, producers: 2, rate_per_second: 100}
rules:
  lose-the-response: {select: {api: Produce, nth: 1}, phase: before_response, act: disconnect}
expect: {lost: 0, duplicated: ">= 1", sent: 300}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lost-response.yaml").write_text(SCENARIO)
    pq.write_table(pa.table({"key": [b"a", b"b", b"c"] * 100, "value": ["equal"] * 300}), tmp_path / "orders.parquet")
    return tmp_path


def test_records_of_a_file_are_judged_under_the_rules_of_the_scenario(spark, folder):
    assert spark.version >= "4.2"
    command = [
        "run",
        "lost-response.yaml",
        "--spark",
        "--load",
        "orders.parquet",
        "--json",
        "result.json",
        "--history",
        "evidence",
    ]
    assert main(command) == 0
    [line] = (folder / "result.json").read_text().splitlines()
    result = json.loads(line)
    counts = {name: result["counts"][name] for name in ("sent", "acked", "stored", "lost")}
    assert counts == {"sent": 300, "acked": 300, "stored": 300, "lost": 0}
    assert result["facts"]["load"] == "300 records of orders.parquet from 1 producer"
    assert "--spark --load orders.parquet" in result["reproduce"]


def test_records_of_a_topic_are_sent_to_a_cluster_that_runs_already_with_tls_and_a_login(spark, folder, certificates):
    assert spark.version >= "4.2"
    (folder / "plain.yaml").write_text(f"{SCENARIO.partition('rules:')[0]}expect: {{lost: 0, sent: 50}}\n")
    login = f"{LOGIN_MODULES['PLAIN']} required username=alice password=secret"
    (folder / "ca.pem").write_bytes(certificates.authority.file.read_bytes())
    (folder / "client.properties").write_text(
        "acks=1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={login};\nssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n"
    )
    config = {
        **certificates.listeners,
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{login} user_alice=secret;",
    }
    with closing(ThreadedCluster(brokers=1, topics=["bills:2:1"], config=config)) as cluster:
        secure = cluster.bootstrap_servers_of("SASL_SSL")
        with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(50):
                producer.send("bills", b"equal", partition=number % 2, headers=[("origin", b"here")])
        options = ["--spark", "--bootstrap", secure, "-F", "client.properties", "--load", f"kafka://{secure}/bills"]
        assert main(["run", "plain.yaml", *options, "--history", "evidence", "--json", "result.json"]) == 0
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            assert [*admin.list_topics()] == ["bills"]
    result = json.loads((folder / "result.json").read_text())
    assert [result["counts"][name] for name in ("acked", "stored", "duplicated")] == [50, 50, 0]
    assert f"--bootstrap {secure} --command-config client.properties" in result["reproduce"]
    evidence = folder / "evidence" / "plain-0"
    files = ["--promises", f"{evidence}/promises.json", "--logs", f"{evidence}/logs"]
    assert main(["check", f"{evidence}/history", *files]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--load", "orders.parquet"], "--load orders.parquet is for Spark: expected --spark beside it"),
        (["--bootstrap", "localhost:9092"], "--bootstrap localhost:9092 is for Spark: expected --spark beside it"),
        (["--spark", "-F", "absent"], "--command-config absent is for the clients of a Kafka: expected --bootstrap"),
        (["--spark", "--load", "absent"], "--load absent does not exist"),
        (["--spark", "--load", "orders.parquet", "--records", "7"], "--records 7: --load orders.parquet has a number"),
        (["--spark", "--bootstrap", "localhost:9092"], "rule 'lose-the-response': --bootstrap sends to the brokers"),
    ],
)
def test_what_a_run_cannot_do_is_refused_before_it(folder, capsys, options, message):
    assert folder.exists()
    assert main(["run", "lost-response.yaml", *options]) == 2
    assert message in capsys.readouterr().err


def test_columns_and_topics_of_a_file_are_refused_by_name(spark, folder, capsys):
    assert spark.version >= "4.2"
    pq.write_table(pa.table({"value": [1]}), folder / "numbers.parquet")
    pq.write_table(pa.table({"value": ["v"], "topic": ["bills"]}), folder / "bills.parquet")
    for name, message in [
        ("numbers", "--load numbers.parquet: column 'value' has the type bigint: expected string or binary"),
        ("bills", "--load bills.parquet: topic 'bills' is not in lost-response.yaml: expected orders"),
    ]:
        assert main(["run", "lost-response.yaml", "--spark", "--load", f"{name}.parquet"]) == 2
        assert message in capsys.readouterr().err
