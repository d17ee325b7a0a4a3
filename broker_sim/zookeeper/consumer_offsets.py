"""The offsets that groups commit to ZooKeeper with OffsetCommit v0: a persistent znode for each partition.

Any broker serves them, and no group, member or generation is checked. The offsets outlive their topic. An error of
ZooKeeper is UNKNOWN_SERVER_ERROR for the client. Mirrors setOrCreateConsumerOffset and getConsumerOffset of
KafkaZkClient.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.zookeeper.messages import Code, ZooKeeperError
from broker_sim.zookeeper.znodes import consumer_offset_path
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient


class ConsumerOffsets:
    """Reads and writes them in the session of one broker."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client

    async def commit(self, group_id: str, partition: TopicPartition, offset: int) -> ErrorCode:
        """Write the offset of a partition."""
        try:
            path = _path(group_id, partition)
            await self._client.request(
                "ZooKeeperSetConsumerOffset", lambda zookeeper, _: zookeeper.write_consumer_offset(path, offset)
            )
        except ZooKeeperError:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE

    async def fetch(self, group_id: str, partition: TopicPartition) -> tuple[int | None, ErrorCode]:
        """Return the committed offset of a partition, None without one, and the error."""
        try:
            path = _path(group_id, partition)
            offset = await self._client.request(
                "ZooKeeperGetConsumerOffset", lambda zookeeper, _: zookeeper.consumer_offset(path)
            )
        except ZooKeeperError:
            return None, ErrorCode.UNKNOWN_SERVER_ERROR
        return offset, ErrorCode.NONE


def _path(group_id: str, partition: TopicPartition) -> str:
    """Return the path of an offset; ZooKeeperError if the group id makes it invalid."""
    path = consumer_offset_path(group_id, partition)
    if _INVALID.search(path):
        raise ZooKeeperError(Code.BAD_ARGUMENTS)
    return path


_INVALID: Final = re.compile(
    r"//|/\.\.?(/|$)|[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]",
)
"""An empty or relative name, or a character that a path cannot have. Mirrors PathUtils.validatePath of ZooKeeper."""
