"""An operation of one record leads to the same log, state and response as one that fills a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from broker_sim.config.topic_config import TopicConfig
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.runtime.shard_runner import ShardRunner
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.runtime.counting_shard import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.runtime.conftest import RuntimeBench

CONFIGS: dict[str, dict[str, str]] = {
    "as created": {},
    "a smaller limit": {"max.message.bytes": "200"},
    "a record that the log refuses": {"max.message.bytes": "100"},
    "records in the past are refused": {"message.timestamp.before.max.ms": "0"},
    "LogAppendTime": {"message.timestamp.type": "LogAppendTime"},
}


def _ends_badly() -> Any:
    """Make a record that cannot be replayed."""
    broken = record("d", 1)
    return broken._replace(value=type(broken.value))


def _outcome(bench: Callable[..., RuntimeBench], config: dict[str, str]) -> list[Any]:
    api = bench(brokers=2, replicas=2)
    for broker in api.cluster.brokers.values():
        for partition in broker.replica_manager.partitions.values():
            partition.log.config = TopicConfig.resolve(config, broker.config)
    ended = [
        api.write(operation)
        for operation in (
            lambda shard: shard.add("a"),
            lambda shard: shard.add("b", 5),
            lambda shard: shard.add("c" * 120),
            lambda _: CoordinatorResult([record("a", None)], "deleted"),
            lambda _: CoordinatorResult([_ends_badly()], "never"),
            lambda _: CoordinatorResult([record("e", 1)], "at once", unconditional=True),
            lambda shard: shard.add("b"),
        )
    ]
    api.settle(2_000)
    log = api.cluster.log_of(api.leader, "__consumer_offsets", 0)
    responses = [[getattr(each, "error_code", each) for each in one] for one in ended]
    return [responses, api.shard.counts.items(), [batch.data for batch in log.batches()], log.high_watermark]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_lone_record_is_written_as_any_other(bench: Callable[..., RuntimeBench], config: dict[str, str]) -> None:
    alone = _outcome(bench, config)
    with patch.object(ShardRunner, "_append_alone", lambda *_: False):
        assert _outcome(bench, config) == alone
    assert alone[0][4] == [ErrorCode.UNKNOWN_SERVER_ERROR]
