"""A small admin client for programs with threads: topics and configurations. Mirrors Admin.

with Admin(bootstrap_servers="localhost:9092") as admin:
    admin.create_topic("orders", partitions=6, replication_factor=3)
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, Self

from broker_client.client_options import client_options
from broker_client.core.admin_core import AdminCore, ConfigEntry, NewTopic
from broker_client.core.client_core import ClientCore
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.records import PartitionInfo

__all__ = ["Admin", "ConfigEntry", "NewTopic"]

_GRACE_S: Final = 5.0


class Admin:
    """Each call waits for its answer; raises BrokerError for what a broker refuses, ProducerTimeout for no answer."""

    def __init__(self, *, random: Random | None = None, **options: object) -> None:
        parsed = client_options(options, client_id="admin-1")
        self._limit_s = parsed.default_api_timeout_ms / 1000 + _GRACE_S
        self._thread = ReactorThread(f"kafka-admin-client-thread | {parsed.network.client_id}")
        reactor = self._thread.reactor
        self._core: ClientCore = self._thread.call(
            lambda: ClientCore(
                parsed,
                reactor,
                random if random is not None else Random(),
                call_from_thread=reactor.callFromThread,
            )
        )
        self._admin = AdminCore(self._core)

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> list[PartitionInfo]:
        """Create a topic and wait until its partitions have leaders."""
        topic = NewTopic(name=name, partitions=partitions, replication_factor=replication_factor, configs=configs or {})
        self._thread.call(lambda: self._admin.create_topics([topic]), timeout_s=self._limit_s)
        return self._thread.call(lambda: self._admin.wait_for_topic(name), timeout_s=self._limit_s)

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create several topics in one request."""
        self._thread.call(lambda: self._admin.create_topics(topics), timeout_s=self._limit_s)

    def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics by name."""
        self._thread.call(lambda: self._admin.delete_topics(names), timeout_s=self._limit_s)

    def describe_topic(self, name: str) -> list[PartitionInfo]:
        """The partitions of a topic."""
        return self._thread.call(lambda: self._admin.describe_topic(name), timeout_s=self._limit_s)

    def describe_topic_configs(self, name: str) -> dict[str, ConfigEntry]:
        """The effective configurations of a topic."""
        return self._thread.call(lambda: self._admin.describe_topic_configs(name), timeout_s=self._limit_s)

    def describe_broker_configs(self, broker_id: int) -> dict[str, ConfigEntry]:
        """The effective configurations of a broker."""
        return self._thread.call(lambda: self._admin.describe_broker_configs(broker_id), timeout_s=self._limit_s)

    def close(self) -> None:
        """Close the connections and end the thread; twice does nothing."""
        if self._thread.running:
            self._thread.call(self._core.close)
            self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
