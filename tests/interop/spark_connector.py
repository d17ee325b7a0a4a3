"""The jars of Spark's own Kafka connector, for tests and measurements."""

from __future__ import annotations

from pathlib import Path

from pyspark import SparkContext

from tests.interop.kafka_release import jars

# The connector's parent project is not resolvable: each of its parts is named apart. The token provider, which the
# connector requests Kerberos tokens that do not exist here, is the newest that there is.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
    "org.scala-lang.modules:scala-parallel-collections_2.13:1.2.0",
)


JVM_SECONDS = 60


def end_jvm() -> None:
    """End the JVM that earlier sessions of this process have left: Spark takes its jars when a JVM starts."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(JVM_SECONDS)
        SparkContext._gateway = SparkContext._jvm = None


def connector_jars() -> list[Path]:
    """Return the jars from the interop cache. Raise ToolMissingError without them and without Maven."""
    return sorted(Path(jars("spark-kafka-4.2.0", *CONNECTOR)).parent.glob("*.jar"))
