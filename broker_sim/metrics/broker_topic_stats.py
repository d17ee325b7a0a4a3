"""Records and bytes in and out, by topic and in all. Mirrors BrokerTopicStats and its BrokerTopicMetrics."""

from __future__ import annotations

from typing import Final

from broker_sim.metrics.metric import Meter, Metric

__all__ = ["BrokerTopicStats", "TopicStats"]

TOPICS_MAX: Final = 10_000
"""The limit of topics with counts of their own; others count into the sum alone."""


class TopicStats:
    """The traffic of one topic with clients."""

    __slots__ = ("bytes_in", "bytes_out", "failed_produce", "messages_in", "produce_requests")

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.produce_requests = 0
        self.failed_produce = 0

    def refused(self) -> None:
        """Count records that a leader has refused."""
        self.produce_requests += 1
        self.failed_produce += 1


_NAMES: Final = {
    "MessagesInPerSec": "messages_in",
    "BytesInPerSec": "bytes_in",
    "BytesOutPerSec": "bytes_out",
    "TotalProduceRequestsPerSec": "produce_requests",
    "FailedProduceRequestsPerSec": "failed_produce",
}


class BrokerTopicStats:
    """One broker's traffic with clients, without the fetches of followers."""

    __slots__ = ("_others", "_topics")

    def __init__(self) -> None:
        self._topics: dict[str, TopicStats] = {}
        self._others = TopicStats()

    def sent(self, topic: str, size: int) -> None:
        """Count records that a consumer gets."""
        self.of(topic).bytes_out += size

    def metrics(self, broker: int, elapsed_s: float) -> list[Metric]:
        """The sums over all topics, then each topic's own."""
        made = []
        every = [*self._topics.values(), self._others]
        for name, attribute in _NAMES.items():
            made.append(_metric(broker, name, (), sum(getattr(stats, attribute) for stats in every), elapsed_s))
        for topic, stats in self._topics.items():
            for name, attribute in _NAMES.items():
                made.append(_metric(broker, name, (("topic", topic),), getattr(stats, attribute), elapsed_s))
        return made

    def of(self, topic: str) -> TopicStats:
        """Return the statistics of a topic."""
        stats = self._topics.get(topic)
        if stats is None:
            if len(self._topics) >= TOPICS_MAX:
                return self._others
            stats = self._topics[topic] = TopicStats()
        return stats


def _metric(broker: int, name: str, tags: tuple[tuple[str, str], ...], count: int, elapsed_s: float) -> Metric:
    return Metric(
        domain="kafka.server",
        type="BrokerTopicMetrics",
        name=name,
        broker=broker,
        tags=tags,
        value=Meter(count=count, mean_rate=count / elapsed_s),
    )
