"""A Kafka Streams application of the streams protocol (KIP-1071), and Kafka's tool for its group, on our cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.interop.kafka_release import classpath, jars, java_tool
from tests.interop.kafka_tools import Tools
from tests.interop.served_cluster import served_cluster

RELEASE = "4.3.1"
PROGRAM = Path(__file__).parent / "java" / "CountWords.java"
SECONDS_MAX = 60
GROUP = "words"


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_an_application_counts_words(tmp_path: Path, guarantee: str) -> None:
    java_tool("javac")  # a runtime alone cannot launch a source file
    libraries = f"{jars(f'kafka-streams-{RELEASE}', f'org.apache.kafka:kafka-streams:{RELEASE}')}:{classpath(RELEASE)}"
    delay = "group.streams.initial.rebalance.delay.ms=0"
    with served_cluster("--release", RELEASE, "--topic", "lines:3:3", "-o", delay) as cluster:
        tools = Tools(RELEASE, cluster.bootstrap_servers)
        tools.run("ConsoleProducer", "--topic", "lines", stdin="a b a\nc a\n")
        command = [java_tool("java"), "-cp", libraries, str(PROGRAM)]
        arguments = [cluster.bootstrap_servers, GROUP, "lines", str(tmp_path), "5", guarantee]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(done.stdout.split()) == ["a=1", "a=2", "a=3", "b=1", "c=1"]
        assert tools.run("streams.StreamsGroupCommand", "--list").split() == [GROUP]
        topics = tools.run("TopicCommand", "--list").split()
        assert {f"{GROUP}-words-changelog", f"{GROUP}-words-repartition"} <= set(topics)
        assert ("__transaction_state" in topics) == (guarantee == "exactly_once_v2")
