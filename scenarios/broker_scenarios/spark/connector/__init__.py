"""A source and a sink of Spark for topics of any Kafka, made with Spark's Python Data Source API and broker_client.

`register(spark)` makes the format `broker_sim` known, see `docs/how-to/stream-with-spark.md`.
"""

from broker_scenarios.spark.connector.data_source import BrokerSimSource, register

__all__ = ["BrokerSimSource", "register"]
